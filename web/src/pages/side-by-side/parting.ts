/** Where two attempts at one task part: the first step at which they say or do another thing. */
import type { StepDocument } from "../../api/schema";
import { textOf } from "../attempt/step/step";

/** What somebody says or does in a step; times, ids, costs and what came of it are no choice of theirs. */
export function actOf({ step }: StepDocument): string {
  const calls = (step.tool_calls ?? []).map((call) => [call.function_name, sorted(call.arguments)]);
  return JSON.stringify([step.source, calls.length > 0 ? calls : textOf(step.message).trim()]);
}

/** The same arguments in another order are the same. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, each]) => [name, sorted(each)]),
  );
}

/** The first step, from 1, that is not the same on both sides; `null`: the same as far as both go. */
export function partingOf(one: readonly StepDocument[], other: readonly StepDocument[]): number | null {
  const most = Math.min(one.length, other.length);
  for (let at = 0; at < most; at++) {
    const [mine, theirs] = [one[at], other[at]];
    if (mine && theirs && actOf(mine) !== actOf(theirs)) return at + 1;
  }
  return null;
}
