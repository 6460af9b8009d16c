/** The steps of a trajectory: what is known of all of them, in columns, and the bodies of those that were looked at. */
import type { StepDocument, StepIndex } from "../../api/schema";

type Column = readonly (number | null)[] | null;

export class Steps {
  private constructor(
    readonly count: number,
    /** Whether there may be more. */
    readonly running: boolean,
    readonly kinds: string,
    private readonly at: Column,
    private readonly input: Column,
    private readonly output: Column,
    readonly sizes: readonly number[],
    readonly failed: readonly number[],
    readonly edits: readonly number[],
  ) {}

  static of(index: StepIndex): Steps {
    const { steps, running, kinds, at, input_tokens, output_tokens, sizes, failed, edits } = index;
    return new Steps(steps, running, kinds, at, input_tokens, output_tokens, sizes, failed, edits);
  }

  /** With the columns of the steps after these. */
  and(more: StepIndex): Steps {
    if (more.first !== this.count + 1) return this;
    const { count } = this;
    return new Steps(
      more.steps,
      more.running,
      this.kinds + more.kinds,
      joined(this.at, more.at, count, more.sizes.length),
      joined(this.input, more.input_tokens, count, more.sizes.length),
      joined(this.output, more.output_tokens, count, more.sizes.length),
      [...this.sizes, ...more.sizes],
      [...this.failed, ...more.failed],
      [...this.edits, ...more.edits],
    );
  }

  /** Seconds since the first step; `null`: not known. */
  secondsAt(step: number): number | null {
    return this.at?.[step - 1] ?? null;
  }

  inputOf(step: number): number | null {
    return this.input?.[step - 1] ?? null;
  }

  outputOf(step: number): number | null {
    return this.output?.[step - 1] ?? null;
  }

  /** Where somebody speaks: an instruction, or the agent saying something. */
  isTurn(step: number): boolean {
    return this.kinds[step - 1] !== "c";
  }

  /** The next turn in a direction, or where one is. */
  turnFrom(step: number, by: 1 | -1): number {
    for (let at = step + by; at >= 1 && at <= this.count; at += by) if (this.isTurn(at)) return at;
    return step;
  }

  /** The step at which to open: the last that failed where that decided something, else the last. */
  deciding(passed: boolean): number {
    return Math.max(1, passed ? this.count : (this.failed.at(-1) ?? this.count));
  }
}

function joined(one: Column, other: Column, before: number, more: number): Column {
  if (one === null && other === null) return null;
  return [...(one ?? new Array(before).fill(null)), ...(other ?? new Array(more).fill(null))];
}

/** The next of some ascending step numbers after one, around the end. */
export function nextOf(numbers: readonly number[], step: number): number | undefined {
  return numbers.find((one) => one > step) ?? numbers[0];
}

export interface Group {
  first: number;
  last: number;
  kind: "instruction" | "edits" | "work";
  edits: number;
  failed: number;
}

const MOST_GROUPS = 60;
/** Steps without an edit after which the next ones are no longer part of the editing. */
const REST = 4;

/** Steps one after the other that belong together, few enough for an outline. */
export function groupsOf(steps: Steps): Group[] {
  const edits = new Set(steps.edits);
  const failed = new Set(steps.failed);
  const groups: Group[] = [];
  let lastEdit = Number.NEGATIVE_INFINITY;
  for (let step = 1; step <= steps.count; step++) {
    const letter = steps.kinds[step - 1];
    if (edits.has(step)) lastEdit = step;
    const kind = letter === "u" || letter === "s" ? "instruction" : step - lastEdit < REST ? "edits" : "work";
    const before = groups.at(-1);
    const marks = { edits: Number(edits.has(step)), failed: Number(failed.has(step)) };
    if (before?.kind === kind) {
      before.last = step;
      before.edits += marks.edits;
      before.failed += marks.failed;
    } else groups.push({ first: step, last: step, kind, ...marks });
  }
  return merged(groups);
}

/** Neighbours put together until they are few: so many steps stand in each. */
function merged(groups: Group[]): Group[] {
  if (groups.length <= MOST_GROUPS) return groups;
  const total = groups.at(-1)?.last ?? 0;
  const size = total / MOST_GROUPS;
  const kept: Group[] = [];
  for (const group of groups) {
    const before = kept.at(-1);
    if (before && group.last - before.first < size) {
      before.last = group.last;
      before.edits += group.edits;
      before.failed += group.failed;
      before.kind = before.edits ? "edits" : before.kind === "instruction" ? group.kind : before.kind;
    } else kept.push({ ...group });
  }
  return kept;
}

/** Bodies that are kept; those furthest from what is looked at go first. */
const MOST_BODIES = 2000;
/** Steps of one answer. */
const PAGE = 100;

/** The page that a step is on: pages that several ask for are the same ones. */
export function pageOf(step: number): { first: number; limit: number } {
  return { first: step - ((step - 1) % PAGE), limit: PAGE };
}

type Fetch = (first: number, limit: number) => Promise<{ items: readonly StepDocument[] }>;

/** Bodies of steps, fetched by the page as they come into sight. */
export class Bodies {
  private readonly found = new Map<number, StepDocument>();
  private readonly asked = new Set<number>();
  private readonly listeners = new Set<() => void>();
  private version = 0;
  error: unknown = null;

  constructor(private readonly fetch: Fetch) {}

  get(step: number): StepDocument | undefined {
    return this.found.get(step);
  }

  /** Have the bodies of these steps soon; of `count` there are. */
  want(first: number, last: number, count: number): void {
    for (let step = Math.max(1, first); step <= Math.min(last, count); step++) {
      if (this.has(step) || this.error) continue;
      const { first: begin, limit } = pageOf(step);
      const end = Math.min(count, begin + limit - 1);
      void this.load(this.hasNone(begin, step) ? begin : step, end);
      step = end;
    }
  }

  private has(step: number): boolean {
    return this.found.has(step) || this.asked.has(step);
  }

  private hasNone(from: number, to: number): boolean {
    for (let step = from; step < to; step++) if (this.has(step)) return false;
    return true;
  }

  retry(): void {
    this.error = null;
    this.tell();
  }

  readonly watch = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly state = (): number => this.version;

  private async load(first: number, last: number): Promise<void> {
    const wanted = Array.from({ length: last - first + 1 }, (_, at) => first + at);
    for (const step of wanted) this.asked.add(step);
    try {
      const { items } = await this.fetch(first, wanted.length);
      this.makeRoom(first);
      for (const one of items) this.found.set(one.number, one);
    } catch (error) {
      this.error = error;
    }
    for (const step of wanted) this.asked.delete(step);
    this.tell();
  }

  private makeRoom(near: number): void {
    if (this.found.size < MOST_BODIES) return;
    for (const step of this.found.keys()) if (Math.abs(step - near) > MOST_BODIES / 4) this.found.delete(step);
  }

  private tell(): void {
    this.version += 1;
    for (const listener of this.listeners) listener();
  }
}
