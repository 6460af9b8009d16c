import { CLASSES, OWNERS, type Owner, ownerOf } from "../../design/outcomes";
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
  /** Only cells whose class is these owners'. */
  owner?: Owner[];
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
    owner: owners(search.owner),
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

function owners(value: unknown): Owner[] | undefined {
  const found = several(value)?.flatMap((one) => chosen(one, OWNERS) ?? []);
  return found?.length ? found : undefined;
}

/** The part of it that is a filter. */
export function filterOf(search: RunSetSearch) {
  const { owed, decided, profile, task, profiles, tasks } = search;
  return { state: statesOf(search), owed, decided, profile, task, profiles, tasks };
}

/** The states that a class and an owner mean together; neither is said: all. */
function statesOf({ class: classes, owner }: RunSetSearch): string[] | undefined {
  if (owner === undefined) return classes;
  return CLASSES.filter((one) => owner.includes(ownerOf(one)) && (classes === undefined || classes.includes(one)));
}
