import { draftOf, hasTexts } from "../../parts/draft";

/** A run-set file that is being written, with its scripts. */
interface Launching {
  text: string;
  /** What they hold, by their paths in the file: a page that is loaded anew may not open a chosen file. */
  scripts: Readonly<Record<string, string>>;
}

export const draft = draftOf("launch", (kept): kept is Launching => hasTexts(kept, "text"));
