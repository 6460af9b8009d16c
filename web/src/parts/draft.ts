/** What is being written on a page: kept while its tab is open, until it is sent or somebody signs out. */

const PREFIX = "proctor.draft.";

export interface Draft<T> {
  /** What was kept; nothing, or nothing that can be used, is `null`. */
  read: () => T | null;
  keep: (one: T) => void;
  forget: () => void;
}

/** `isOne`: whether what a browser kept is one of this page's, since an older page may have kept something else. */
export function draftOf<T>(page: string, isOne: (kept: unknown) => kept is T): Draft<T> {
  const name = PREFIX + page;
  const forget = () => {
    try {
      sessionStorage.removeItem(name);
    } catch {
      // nothing was kept
    }
  };
  return {
    read: () => {
      try {
        const kept: unknown = JSON.parse(sessionStorage.getItem(name) ?? "");
        return isOne(kept) ? kept : null;
      } catch {
        return null; // a browser that keeps nothing has no draft
      }
    },
    keep: (one) => {
      try {
        sessionStorage.setItem(name, JSON.stringify(one));
      } catch {
        forget(); // it is on the page still, and what was kept before is not what is written there
      }
    },
    forget,
  };
}

/** Every page's. */
export function forgetDrafts(): void {
  try {
    for (const name of Object.keys(sessionStorage)) if (name.startsWith(PREFIX)) sessionStorage.removeItem(name);
  } catch {
    // nothing was kept
  }
}

/** Whether something is an object whose fields of these names are texts. */
export function hasTexts<Name extends string>(kept: unknown, ...names: readonly Name[]): kept is Record<Name, string> {
  if (typeof kept !== "object" || kept === null) return false;
  return names.every((name) => typeof (kept as Record<string, unknown>)[name] === "string");
}
