/**
 * Where the focus was on each page that was left: whoever comes back by the browser goes on there, and whoever comes to
 * another page at its title.
 */
import type { AnyRouter } from "@tanstack/react-router";

interface Place {
  selector: string;
  /** Among those that fit the selector. */
  index: number;
}

/** How long what had the focus may take to be there again. */
const PATIENCE_MS = 3000;
/** Of a page that nobody was on before. */
const TITLE: Place = { selector: "main h1", index: 0 };
const NAMING = ["href", "id", "aria-label", "name", "title"] as const;

/** Keep and give back the focus, from now on; returns how to stop. */
export function keepFocus(router: AnyRouter): () => void {
  const places = new Map<string, Place>();
  const leave = router.subscribe("onBeforeNavigate", ({ fromLocation }) => {
    const place = placeOf(document.activeElement);
    const key = fromLocation?.state.__TSR_key;
    if (place && key) places.set(key, place);
  });
  const arrive = router.subscribe("onRendered", ({ fromLocation, toLocation }) => {
    const place = places.get(toLocation.state.__TSR_key ?? "");
    const isElsewhere = fromLocation !== undefined && fromLocation.pathname !== toLocation.pathname;
    if (place) giveBack(place, performance.now() + PATIENCE_MS);
    else if (isElsewhere) giveBack(TITLE, performance.now() + PATIENCE_MS);
  });
  return () => {
    leave();
    arrive();
  };
}

/** How an element is found again; `null`: it is nothing in particular. */
export function placeOf(element: Element | null): Place | null {
  const name = element && NAMING.find((one) => element.hasAttribute(one));
  if (!element || !name || element === document.body) return null;
  const tag = element.tagName.toLowerCase();
  const selector = `${tag}[${name}="${CSS.escape(element.getAttribute(name) ?? "")}"]`;
  return { selector, index: [...document.querySelectorAll(selector)].indexOf(element) };
}

function giveBack(place: Place, until: number): void {
  const isFree = document.activeElement === null || document.activeElement === document.body;
  if (!isFree) return;
  const found = document.querySelectorAll<HTMLElement>(place.selector)[place.index];
  if (found) {
    if (found.tabIndex < 0) found.tabIndex = -1; // what is no control takes the focus only so
    found.focus({ preventScroll: true });
  } else if (performance.now() < until) requestAnimationFrame(() => giveBack(place, until));
}
