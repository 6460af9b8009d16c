import type { Pair } from "../../api/schema";
import { count, counted, difference } from "../../design/numbers";
import styles from "./compare.module.css";
import { Axis, againstBase, isDistinguished } from "./difference";
import { boundsOf, doubtOf, groundOf, strictOf } from "./report";
import { pairName, sideName } from "./tasks";

/** One pair in words and drawn: the difference with its interval, over what, by which test. `pairs`: of the page. */
export function Claim({ pair, reach, pairs }: { pair: Pair; reach: number; pairs: number }) {
  const seen = againstBase(pair);
  const clear = isDistinguished(pair);
  const [doubt, bounds] = [doubtOf(pair), boundsOf(pair)];
  return (
    <section className={styles.claim} aria-label={pairName(pair)}>
      <p>
        <b>{sideName(pair.b)}</b> against <b>{sideName(pair.a)}</b>
      </p>
      <p className={styles.figure} data-side={clear ? ((seen.difference ?? 0) > 0 ? "up" : "down") : undefined}>
        Δ graded {difference(seen.difference, seen.interval)}
        {doubt && <span> {doubt}</span>}
      </p>
      <Axis {...seen} width={320} reach={reach} />
      {pair.strict && <Strict of={pair.strict} reach={reach} />}
      <p className="muted data">{groundOf(pair, pairs)}</p>
      {bounds && <p className="muted data">{bounds}</p>}
      <p>{pair.claim}</p>
      <Configuration pair={pair} />
      <LeftOut pair={pair} />
    </section>
  );
}

/** What has no verdict counts as not passed here: no test, so no colour. */
function Strict({ of, reach }: { of: NonNullable<Pair["strict"]>; reach: number }) {
  return (
    <>
      <p>{strictOf(of)}</p>
      <Axis {...againstBase(of)} width={320} reach={reach} />
    </>
  );
}

function Configuration({ pair }: { pair: Pair }) {
  if (pair.fields.length === 0) return null;
  return (
    <details>
      <summary>{counted(pair.fields.length, "difference")} of configuration</summary>
      <table className={styles.fields}>
        <thead>
          <tr>
            <th scope="col">field</th>
            <th scope="col">{sideName(pair.a)}</th>
            <th scope="col">{sideName(pair.b)}</th>
          </tr>
        </thead>
        <tbody>
          {pair.fields.map((one) => (
            <tr key={one.field}>
              <th scope="row">
                <code>{one.field}</code>
              </th>
              <td>
                <code>{JSON.stringify(one.a)}</code>
              </td>
              <td>
                <code>{JSON.stringify(one.b)}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function LeftOut({ pair }: { pair: Pair }) {
  if (pair.unpaired_cells === 0) return null;
  const told = pair.unpaired.reduce((sum, one) => sum + one.cells, 0);
  return (
    <details>
      <summary>What was left out, and why ({count(pair.unpaired_cells)} cells)</summary>
      <ul className={styles.left}>
        {pair.unpaired.map((one) => (
          <li key={`${one.task} ${one.side} ${one.reason}`}>
            {one.task}, {sideName(one.side === pair.a.title ? pair.a : pair.b)}: {counted(one.cells, "cell")},{" "}
            {one.reason}
          </li>
        ))}
        {told < pair.unpaired_cells && <li>and {counted(pair.unpaired_cells - told, "cell")} more</li>}
      </ul>
    </details>
  );
}
