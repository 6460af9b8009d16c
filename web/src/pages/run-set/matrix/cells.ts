/**
 * The cells of a run set as columns: profiles × tasks × trials, each with its state. Half a million of them are a few
 * typed arrays; what is drawn, filtered and counted reads these and nothing else.
 */

import type { MatrixIds } from "../../../api/schema";

export interface TaskHead {
  digest: string;
  name: string;
}

/** One cell for a reader. */
export interface CellView {
  index: number;
  profile: string;
  task: TaskHead;
  trial: number;
  state: string;
  decided: boolean;
  attempts: number;
  /** While ids are not known, `null`. */
  attempt: string | null;
  id: string | null;
  limit: string;
  waitsUntil: string | null;
  givenUp: boolean;
  /** Which its running attempt has come to. */
  phase: string | null;
}

/** The beginnings of the ids of cells and of their attempts. */
export type Ids = MatrixIds;

/** What is known of each cell, in one order. */
export interface Columns {
  profile: ArrayLike<number>;
  task: ArrayLike<number>;
  /** The trial's number, and its place among the trials of its profile and task, from 0. */
  trial: ArrayLike<number>;
  place: ArrayLike<number>;
  /** Index into `states`. */
  state: Uint8Array;
  decided: Uint8Array;
  givenUp: Uint8Array;
  attempts: Uint16Array;
  attempt: (string | null)[];
  limit: (string | null)[];
  waitsUntil: (string | null)[];
  phase: (string | null)[];
}

/** Classes of outcomes, and what a cell is that has none. */
export const UNDECIDED_STATES: readonly string[] = ["not_started", "queued", "waiting", "running", "withdrawn"];

export class Cells {
  readonly trials: number;
  private readonly grid: Int32Array;
  private ids: Ids | null = null;
  private places = new Map<string, number>();
  private readonly codes: Map<string, number>;

  constructor(
    readonly profiles: readonly string[],
    readonly tasks: readonly TaskHead[],
    readonly states: string[],
    readonly columns: Columns,
  ) {
    const { place, profile, task } = columns;
    let trials = 1;
    for (let at = 0; at < this.size; at++) trials = Math.max(trials, (place[at] ?? 0) + 1);
    this.trials = trials;
    this.grid = new Int32Array(profiles.length * tasks.length * trials).fill(-1);
    for (let at = 0; at < this.size; at++) {
      this.grid[this.slot(profile[at] ?? 0, task[at] ?? 0, place[at] ?? 0)] = at;
    }
    this.codes = new Map(states.map((state, code) => [state, code]));
  }

  get size(): number {
    return this.columns.state.length;
  }

  /** The cell at a place, or -1. */
  at(profile: number, task: number, trial: number): number {
    if (profile < 0 || task < 0 || trial < 0) return -1;
    if (profile >= this.profiles.length || task >= this.tasks.length || trial >= this.trials) return -1;
    return this.grid[this.slot(profile, task, trial)] ?? -1;
  }

  stateOf(index: number): string {
    return this.states[this.columns.state[index] ?? 0] ?? "unclassified";
  }

  isDecided(index: number): boolean {
    return this.columns.decided[index] === 1;
  }

  /** Know the cells by their ids from now on, if these are theirs; attempts that began since stay as they are. */
  name(ids: Ids): void {
    if (ids.cell.length !== this.size) return;
    this.ids = ids;
    this.places = new Map(ids.cell.map((id, at) => [id, at]));
    ids.attempt.forEach((attempt, at) => {
      this.columns.attempt[at] ??= attempt;
    });
  }

  get isNamed(): boolean {
    return this.ids !== null;
  }

  /** The cell with an id, or -1; also while ids are not known. */
  placeOf(id: string): number {
    return this.places.get(id.slice(0, this.ids?.id_length)) ?? -1;
  }

  view(index: number): CellView {
    const { profile, task, trial, attempts, attempt, limit, waitsUntil, givenUp, phase } = this.columns;
    return {
      index,
      id: this.ids?.cell[index] ?? null,
      profile: this.profiles[profile[index] ?? 0] ?? "",
      task: this.tasks[task[index] ?? 0] ?? { digest: "", name: "" },
      trial: trial[index] ?? 0,
      state: this.stateOf(index),
      decided: this.isDecided(index),
      attempts: attempts[index] ?? 0,
      attempt: attempt[index] ?? null,
      limit: limit[index] ?? "",
      waitsUntil: waitsUntil[index] ?? null,
      givenUp: givenUp[index] === 1,
      phase: phase[index] ?? null,
    };
  }

  /** How many cells are in each state; those with a verdict and those without apart. */
  counts(): { state: string; decided: boolean; cells: number }[] {
    const sums = new Map<number, number>();
    const { state, decided } = this.columns;
    for (let at = 0; at < this.size; at++) {
      const key = (state[at] ?? 0) * 2 + (decided[at] ?? 0);
      sums.set(key, (sums.get(key) ?? 0) + 1);
    }
    return [...sums].map(([key, cells]) => ({ state: this.states[key >> 1] ?? "", decided: key % 2 === 1, cells }));
  }

  /** Change what a cell is, in place; whether it was another thing before. */
  change(index: number, to: { state: string; decided?: boolean; attempt?: string; attempts?: number }): boolean {
    const { columns } = this;
    const code = this.code(to.state);
    const decided = to.decided ? 1 : 0;
    const isNew = columns.state[index] !== code || columns.decided[index] !== decided;
    columns.state[index] = code;
    columns.decided[index] = decided;
    if (to.attempt !== undefined) columns.attempt[index] = to.attempt;
    columns.waitsUntil[index] = null;
    columns.phase[index] = null;
    if (to.attempts !== undefined) columns.attempts[index] = to.attempts;
    return isNew;
  }

  /** Say which phase a cell has come to, if it still runs. */
  reach(index: number, phase: string): void {
    if (this.stateOf(index) === "running") this.columns.phase[index] = phase;
  }

  private code(state: string): number {
    const known = this.codes.get(state);
    if (known !== undefined) return known;
    this.states.push(state);
    this.codes.set(state, this.states.length - 1);
    return this.states.length - 1;
  }

  private slot(profile: number, task: number, trial: number): number {
    return (profile * this.tasks.length + task) * this.trials + trial;
  }
}

/** What of the cells is meant. Nothing said: all. */
export interface CellFilter {
  state?: readonly string[];
  owed?: boolean;
  decided?: boolean;
  profile?: string;
  /** A text in the task's name. */
  task?: string;
  profiles?: readonly string[];
  tasks?: readonly string[];
}

/** 1 for each cell that a filter means. */
export function matching(cells: Cells, filter: CellFilter): Uint8Array {
  const found = new Uint8Array(cells.size);
  const { state, decided, profile, task } = cells.columns;
  const states = filter.state && new Set(filter.state);
  const codes = cells.states.map((name) => states === undefined || states.has(name));
  const wanted = filter.task?.toLowerCase();
  const [inTasks, inProfiles] = [within(filter.tasks), within(filter.profiles)];
  const tasks = cells.tasks.map(
    ({ name }) => (wanted === undefined || name.toLowerCase().includes(wanted)) && inTasks(name),
  );
  const profiles = cells.profiles.map(
    (name) => (filter.profile === undefined || name === filter.profile) && inProfiles(name),
  );
  for (let at = 0; at < found.length; at++) {
    const isDecided = decided[at] === 1;
    if (filter.owed && isDecided) continue;
    if (filter.decided && !isDecided) continue;
    if (codes[state[at] ?? 0] && tasks[task[at] ?? 0] && profiles[profile[at] ?? 0]) found[at] = 1;
  }
  return found;
}

/** Whether a name is one of some; of no list every one is. */
function within(names: readonly string[] | undefined): (name: string) => boolean {
  const known = names && new Set(names);
  return (name) => known === undefined || known.has(name);
}

export function isFilter(filter: CellFilter): boolean {
  return Object.values(filter).some((one) => one !== undefined && one !== false);
}
