/** A comparison as text, for wherever it is talked about: the same figures that the page shows. */
import type { Pair } from "../../api/schema";
import { cost, count, counted, difference, percent, pValue } from "../../design/numbers";
import { againstBase, isDistinguished } from "./difference";

/** What follows of a pair where its difference is none. */
export function doubtOf(pair: Pair): string {
  if (isDistinguished(pair)) return "";
  return pair.tasks === 0 ? pair.finding : "not distinguishable";
}

/** Over what a difference is, and by which test. */
export function groundOf({ a, b, tasks, test, p_adjusted, unpaired_cells }: Pair): string {
  const means = `${percent(b.mean)} of ${counted(b.decided, "cell")} against ${percent(a.mean)} of ${counted(a.decided, "cell")}`;
  const tested = test ? `; ${test.name}, p ${pValue(p_adjusted ?? test.p)}` : "";
  const without = unpaired_cells > 0 ? `; ${counted(unpaired_cells, "cell")} left out` : "";
  return `${means}, paired over ${counted(tasks, "task")}${tested}${without}`;
}

/** Markdown. `address`: of the page, with all that it shows. */
export function reportOf(pairs: readonly Pair[], address: string): string {
  return [...pairs.map(paragraphOf), `From ${address}`].join("\n\n");
}

function paragraphOf(pair: Pair): string {
  const { better = 0, worse = 0, both_pass = 0, both_fail = 0, owed = 0 } = pair.kinds;
  const seen = againstBase(pair);
  const doubt = doubtOf(pair);
  const { a_nano, b_nano } = pair.cost;
  return [
    `**${plain(pair.b.title)}** against **${plain(pair.a.title)}**: ${difference(seen.difference, seen.interval)}${doubt && `, ${doubt}`}`,
    `- ${groundOf(pair)}`,
    `- tasks: flips +${count(better)} / −${count(worse)}, both pass ${count(both_pass)}, both fail ${count(both_fail)}, owed on one side ${count(owed)}`,
    `- cost of the paired tasks: ${cost(b_nano)} against ${cost(a_nano)}`,
    `- ${pair.claim}`,
  ].join("\n");
}

/** A name that says nothing to whoever lays Markdown out. */
function plain(name: string): string {
  return name.replace(/[\\`*_[\]<>|]/g, "\\$&");
}
