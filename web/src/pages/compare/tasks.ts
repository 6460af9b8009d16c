/** Two sides task by task: what is shown of them, and how many that are. */
import type { Pair, Segment } from "../../api/schema";
import { text } from "../../search";

export const SHOWN = ["flips", "both-pass", "both-fail", "owed", "all"] as const;
export type Shown = (typeof SHOWN)[number];

/** How the API calls it. */
export const KINDS = {
  flips: "flips",
  "both-pass": "both_pass",
  "both-fail": "both_fail",
  owed: "owed",
  all: "all",
} as const satisfies Record<Shown, string>;

/** How many tasks are shown, of a pair or a segment of it. */
export function countOf(kinds: Pair["kinds"], shown: Shown): number {
  const { better = 0, worse = 0, both_pass = 0, both_fail = 0, mixed = 0, owed = 0 } = kinds;
  const flips = better + worse;
  const all = flips + both_pass + both_fail + mixed + owed;
  return { flips, "both-pass": both_pass, "both-fail": both_fail, owed, all }[shown];
}

/** A side as it is told of: a run set that was asked for by its id by its name too, `nightly (0be41c9a):codex`. */
export function sideName({ title, name }: Pick<Pair["a"], "title" | "name">): string {
  return title.replace(
    /^([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?=:)/,
    (_, short) => `${name} (${short})`,
  );
}

/** The first pair's references as its tasks are asked for: as the page has them where it is theirs, known beforehand. */
export function referencesOf(pair: Pick<Pair, "a" | "b">, base: string, other: string): [string, string] {
  const is = ({ title }: Pair["a"], said: string) => title === said || title.startsWith(`${said}:`);
  return is(pair.a, base) && is(pair.b, other) ? [base, other] : ownReferences(pair);
}

/** A pair's references, whichever of a page's it is. */
export function ownReferences({ a, b }: Pick<Pair, "a" | "b">): [string, string] {
  return [`${a.run_set}:${a.profile}`, `${b.run_set}:${b.profile}`];
}

/** What a pair is called: the other against the base. */
export function pairName({ a, b }: Pick<Pair, "a" | "b">): string {
  return `${sideName(b)} against ${sideName(a)}`;
}

export interface CompareSearch {
  base?: string;
  with?: string[];
  show?: Shown;
  segment?: string;
  /** Whose tasks are shown, from 1: nothing is the first. */
  pair?: number;
}

/** A segment of an address, `difficulty:easy`; nothing where it names no field that tasks are put together by. */
export function segmentOf(value: unknown): string | undefined {
  const said = text(value);
  return said && /^(difficulty|category):./.test(said) ? said : undefined;
}

/** How an address names a segment. */
export function nameOf({ field, label }: Pick<Segment, "field" | "label">): string {
  return `${field}:${label}`;
}
