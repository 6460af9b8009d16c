/** Places that somebody was at lately, kept in this browser alone and for each tenant apart. */
import { useEffect } from "react";
import { watchTitles } from "../../parts/title";

export interface RecentPlace {
  /** `Run set`, `Attempt`. */
  what: string;
  which: string;
  path: string;
}

/** More than anybody looks through. */
const KEPT = 12;
const PREFIX = "proctor.recent.";

export function recentPlaces(tenant: string): RecentPlace[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(PREFIX + tenant) ?? "[]");
    return Array.isArray(kept) ? kept.filter(isPlace) : [];
  } catch {
    return [];
  }
}

/** Put a place before all others. */
export function remember(tenant: string, place: RecentPlace): void {
  const others = recentPlaces(tenant).filter(
    (one) => one.path !== place.path && (one.what !== place.what || one.which !== place.which),
  );
  try {
    localStorage.setItem(PREFIX + tenant, JSON.stringify([place, ...others].slice(0, KEPT)));
  } catch {
    // a browser that keeps nothing has no recent places
  }
}

/** Forget the places of every tenant. */
export function forgetPlaces(): void {
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
  } catch {
    // it kept nothing
  }
}

/** Remember each thing that is looked at, while mounted; lists and forms are found among the pages. */
export function useRemembering(tenant: string): void {
  useEffect(
    () =>
      watchTitles(([what, which]) => {
        if (what !== undefined && which !== undefined) remember(tenant, { what, which, path: here() });
      }),
    [tenant],
  );
}

/** Without what is only how a thing is looked at; where no thing is in the path, the rest of the address names it. */
function here(): string {
  const { pathname, search } = globalThis.location;
  return pathname.indexOf("/", 1) > 0 ? pathname : pathname + search;
}

function isPlace(one: unknown): one is RecentPlace {
  if (typeof one !== "object" || one === null) return false;
  const { what, which, path } = one as Record<string, unknown>;
  return typeof what === "string" && typeof which === "string" && typeof path === "string" && /^\/(?!\/)/.test(path);
}
