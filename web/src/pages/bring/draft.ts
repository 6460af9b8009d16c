import { draftOf, hasTexts } from "../../parts/draft";
import type { Naming } from "./naming";

/** Examples that are being written. A file is not kept: a page that is loaded anew may not open it. */
interface Bringing {
  name: string;
  text: string;
  /** What was chosen of it. */
  naming: Partial<Naming>;
}

export const draft = draftOf("bring", (kept): kept is Bringing => hasTexts(kept, "name", "text"));
