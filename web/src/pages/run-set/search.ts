import { chosen, listed, several, text, whole } from "../../search";

export const VIEWS = ["grid", "table", "tasks"] as const;
export type View = (typeof VIEWS)[number];
export const SORTS = ["file", "strength", "name"] as const;
export type Sort = (typeof SORTS)[number];
export const PITCHES = [12, 18, 28] as const;

/** What the address of the page says: the same address is the same view. */
export interface RunSetSearch {
  view?: View;
  /** Only cells in these states. */
  class?: string[];
  owed?: true;
  decided?: true;
  profile?: string;
  /** A text in the task's name. */
  task?: string;
  /** Names that were drawn over. */
  profiles?: string[];
  tasks?: string[];
  sort?: Sort;
  pitch?: number;
  /** The cell that is pinned, by its id. */
  cell?: string;
}

export function runSetSearch(search: Record<string, unknown>): RunSetSearch {
  return {
    view: chosen(search.view, VIEWS),
    class: several(search.class),
    owed: search.owed === true || search.owed === "true" ? true : undefined,
    decided: search.decided === true || search.decided === "true" ? true : undefined,
    profile: text(search.profile),
    task: text(search.task),
    profiles: listed(search.profiles),
    tasks: listed(search.tasks),
    sort: chosen(search.sort, SORTS),
    pitch: PITCHES.find((one) => one === whole(search.pitch)),
    cell: text(search.cell),
  };
}

/** The part of it that is a filter. */
export function filterOf(search: RunSetSearch) {
  const { owed, decided, profile, task, profiles, tasks } = search;
  return { state: search.class, owed, decided, profile, task, profiles, tasks };
}
