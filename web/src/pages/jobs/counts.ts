/** How many results a filter leaves, as far as the job's own figures say. */
import type { EvaluatorSummary, Spread } from "../../api/schema";
import { count, counted } from "../../design/numbers";
import type { filterOf } from "./search";

type Filter = ReturnType<typeof filterOf>;

/** Every result there is. */
export function countOfAll(evaluators: readonly EvaluatorSummary[]): number {
  return sum(evaluators.flatMap((one) => Object.values(one.counts)));
}

/** Results of an evaluator that have no score, by status. */
export function withoutScore({ counts }: EvaluatorSummary): [status: string, results: number][] {
  return Object.entries(counts).filter(([status, results]) => status !== "scored" && results > 0);
}

/** Those that fit a filter; `null`: it is neither a status, an evaluator nor a bar, and nothing counts those. */
export function countOf(
  { status, evaluator, at_least, below }: Filter,
  evaluators: readonly EvaluatorSummary[],
  spreads: readonly Spread[],
): number | null {
  const meant = evaluators.filter((one) => evaluator === undefined || one.evaluator === evaluator);
  if (at_least === undefined && below === undefined) {
    return status === undefined ? countOfAll(meant) : sum(meant.map((one) => one.counts[status] ?? 0));
  }
  const spread = spreads.find((one) => one.evaluator === evaluator);
  const bar = spread?.edges.indexOf(at_least ?? Number.NaN) ?? -1;
  const isLast = bar + 1 === spread?.counts.length;
  const isBar = status === undefined && bar >= 0 && below === (isLast ? undefined : spread?.edges[bar + 1]);
  return isBar ? (spread?.counts[bar] ?? null) : null;
}

/** `12 of 120 results`. */
export function ofWords(fit: number | null, all: number): string {
  return fit === null ? `some of ${counted(all, "result")}` : `${count(fit)} of ${counted(all, "result")}`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, one) => total + one, 0);
}
