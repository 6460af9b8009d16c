/** A comparison as text, for wherever it is talked about: the same figures that the page shows. */
import type { Pair } from "../../api/schema";
import { cost, count, counted, difference, isClear, percent, points, pValue } from "../../design/numbers";
import { againstBase, isDistinguished } from "./difference";
import { sideName } from "./tasks";

/** What follows of a pair where its difference is none, and why where its interval does not say so. */
export function doubtOf(pair: Pick<Pair, "interval" | "finding" | "tasks">): string {
  if (isDistinguished(pair)) return "";
  if (pair.tasks === 0) return pair.finding;
  if (pair.interval === null) return "not distinguishable: one task has no interval";
  return isClear(pair.interval) ? "not distinguishable by its test" : "not distinguishable";
}

/** What the strict rates differ by, and what they are: over all tasks that both sides are to run. */
export function strictOf(strict: NonNullable<Pair["strict"]>): string {
  const seen = againstBase(strict);
  const shares = `${percent(strict.b)} against ${percent(strict.a)} over ${counted(strict.tasks, "task")}`;
  return `Δ strict ${difference(seen.difference, seen.interval)}: ${shares}`;
}

/** What missing verdicts can make of a difference, where they can. */
export function boundsOf({ worst, best }: Pair): string {
  if (!worst || !best || worst.difference === best.difference) return "";
  return `the missing verdicts can make it ${points(-best.difference)} to ${points(-worst.difference)} pp`;
}

/** Over what a difference is, and by which test. `pairs`: how many the p value is adjusted over. */
export function groundOf({ a, b, tasks, test, p_adjusted, unpaired_cells }: Pair, pairs: number): string {
  const means = `graded: ${percent(b.mean)} of ${counted(b.decided, "cell")} against ${percent(a.mean)} of ${counted(a.decided, "cell")}`;
  const adjusted = pairs > 1 && p_adjusted != null ? `, ${pValue(p_adjusted)} adjusted over ${pairs} pairs (Holm)` : "";
  const tested = test ? `; ${test.name}, p ${pValue(test.p)}${adjusted}` : "";
  const without = unpaired_cells > 0 ? `; ${counted(unpaired_cells, "cell")} left out` : "";
  return `${means}, paired over ${counted(tasks, "task")}${tested}${without}`;
}

/** Markdown. `address`: of the page, with all that it shows. */
export function reportOf(pairs: readonly Pair[], address: string): string {
  return [...pairs.map((pair) => paragraphOf(pair, testsOf(pairs))), `From ${address}`].join("\n\n");
}

/** How many pairs have a test, and so are adjusted together. */
export function testsOf(pairs: readonly Pair[]): number {
  return pairs.filter((pair) => pair.test !== null).length;
}

function paragraphOf(pair: Pair, pairs: number): string {
  const { better = 0, worse = 0, both_pass = 0, both_fail = 0, owed = 0 } = pair.kinds;
  const seen = againstBase(pair);
  const doubt = doubtOf(pair);
  const { a_nano, b_nano } = pair.cost;
  return [
    `**${plain(sideName(pair.b))}** against **${plain(sideName(pair.a))}**: Δ graded ${difference(seen.difference, seen.interval)}${doubt && `, ${doubt}`}`,
    `- ${groundOf(pair, pairs)}`,
    ...(pair.strict ? [`- ${strictOf(pair.strict)}`] : []),
    `- tasks: flips +${count(better)} / −${count(worse)}, both pass ${count(both_pass)}, both fail ${count(both_fail)}, owed on one side ${count(owed)}`,
    `- cost of the paired tasks: ${cost(b_nano)} against ${cost(a_nano)}`,
    ...(boundsOf(pair) ? [`- ${boundsOf(pair)}`] : []),
    `- ${pair.claim}`,
  ].join("\n");
}

/** A name that says nothing to whoever lays Markdown out. */
function plain(name: string): string {
  return name.replace(/[\\`*_[\]<>|]/g, "\\$&");
}
