/** Where the focus was on each page that was left: whoever comes back by the browser goes on there. */
import type { AnyRouter } from "@tanstack/react-router";

interface Place {
  selector: string;
  /** Among those that fit the selector. */
  index: number;
}

/** How long what had the focus may take to be there again. */
const PATIENCE_MS = 3000;
const NAMING = ["href", "id", "aria-label", "name", "title"] as const;

/** Keep and give back the focus, from now on; returns how to stop. */
export function keepFocus(router: AnyRouter): () => void {
  const places = new Map<string, Place>();
  const leave = router.subscribe("onBeforeNavigate", ({ fromLocation }) => {
    const place = placeOf(document.activeElement);
    const key = fromLocation?.state.__TSR_key;
    if (place && key) places.set(key, place);
  });
  const arrive = router.subscribe("onRendered", ({ toLocation }) => {
    const place = places.get(toLocation.state.__TSR_key ?? "");
    if (place) giveBack(place, performance.now() + PATIENCE_MS);
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
  if (found) found.focus({ preventScroll: true });
  else if (performance.now() < until) requestAnimationFrame(() => giveBack(place, until));
}
