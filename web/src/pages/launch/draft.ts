/** A run-set file that is being written: kept while its tab is open, until it is launched or somebody signs out. */

const NAME = "proctor.launch";

export function draft(): string | null {
  try {
    return sessionStorage.getItem(NAME);
  } catch {
    return null; // a browser that keeps nothing has no draft
  }
}

export function keepDraft(text: string): void {
  try {
    sessionStorage.setItem(NAME, text);
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
