import { draftOf, hasTexts } from "../../parts/draft";

/** Outputs that are being written for a version. A file is not kept: a page that is loaded anew may not open it. */
interface Evaluating {
  /** The version's id. */
  version: string;
  name: string;
  text: string;
}

export const draft = draftOf("evaluate", (kept): kept is Evaluating => hasTexts(kept, "version", "name", "text"));
