/** A run-set file that is being written, with its scripts: kept while its tab is open, until it is launched or somebody signs out. */

const NAME = "proctor.launch";

interface Draft {
  text: string;
  /** What they hold, by their paths in the file: a page that is loaded anew may not open a chosen file. */
  scripts: Readonly<Record<string, string>>;
}

export function draft(): Draft | null {
  try {
    const kept = JSON.parse(sessionStorage.getItem(NAME) ?? "");
    return typeof kept.text === "string" ? kept : null;
  } catch {
    return null; // a browser that keeps nothing has no draft
  }
}

export function keepDraft(one: Draft): void {
  try {
    sessionStorage.setItem(NAME, JSON.stringify(one));
  } catch {
    // it is on the page still
  }
}

export function forgetDraft(): void {
  try {
    sessionStorage.removeItem(NAME);
  } catch {
    // nothing was kept
  }
}
