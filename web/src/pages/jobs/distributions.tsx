import { useQuery } from "@tanstack/react-query";
import { spreads } from "../../api/data";
import type { Spread } from "../../api/schema";
import { count, counted, score } from "../../design/numbers";
import { Asked } from "../../parts/asked";
import { Section } from "../../parts/section";
import styles from "./jobs.module.css";

/** How each evaluator's scores are spread. */
export function Distributions({ id }: { id: string }) {
  const asked = useQuery(spreads(id));
  return (
    <Section title="Scores">
      <Asked query={asked} what="distributions" rows={4}>
        {({ items }) => (
          <div className={styles.spreads}>
            {items.map((one) => (
              <Histogram key={one.evaluator} one={one} />
            ))}
          </div>
        )}
      </Asked>
    </Section>
  );
}

function Histogram({ one }: { one: Spread }) {
  if (one.undefined) {
    return (
      <figure>
        <figcaption>{one.evaluator}</figcaption>
        <p className="muted data">{one.undefined}</p>
      </figure>
    );
  }
  const most = Math.max(...one.counts, 1);
  return (
    <figure className={styles.spread}>
      <figcaption>
        {one.evaluator} <span className="muted">{counted(one.count, "score")}</span>
      </figcaption>
      <div className={styles.bins} role="img" aria-label={binsWords(one)}>
        {one.counts.map((cells, at) => (
          <span
            key={one.edges[at]}
            style={{ height: `${(cells / most) * 100}%` }}
            title={`${score(one.edges[at])} to ${score(one.edges[at + 1])}: ${count(cells)}`}
          />
        ))}
      </div>
      <p className={styles.ends}>
        <span>{score(one.low)}</span>
        <span>median {score(one.quantiles["0.5"])}</span>
        <span>{score(one.high)}</span>
      </p>
    </figure>
  );
}

function binsWords(one: Spread): string {
  return one.counts
    .map((cells, at) => (cells > 0 ? `${score(one.edges[at])} to ${score(one.edges[at + 1])}: ${cells}` : ""))
    .filter(Boolean)
    .join("; ");
}
