import { chosen, text, whole } from "../../search";

export const VIEWS = ["conversation", "terminal", "files", "evidence", "raw"] as const;
export type View = (typeof VIEWS)[number];

/** More is no step of any trajectory, and the server refuses it. */
const MOST_STEPS = 2 ** 31 - 1;

/** What the address of the page says: the same address is the same view. */
export interface AttemptSearch {
  view?: View;
  /** The step that keys act on, from 1; without one it is the deciding one. */
  step?: number;
  /** What is looked for in all steps. */
  find?: string;
  /** The phase whose evidence is shown, by its number. */
  phase?: number;
  /** The run set that one comes from, where that counts a verdict of another's attempt. */
  of?: string;
}

export function attemptSearch(search: Record<string, unknown>): AttemptSearch {
  const step = whole(search.step);
  return {
    view: chosen(search.view, VIEWS),
    step: step !== undefined && step >= 1 && step <= MOST_STEPS ? step : undefined,
    find: text(search.find)?.slice(0, 200),
    phase: whole(search.phase),
    of: text(search.of),
  };
}
