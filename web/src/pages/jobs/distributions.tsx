import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { spreads } from "../../api/data";
import type { Spread } from "../../api/schema";
import { counted, score } from "../../design/numbers";
import { Asked } from "../../parts/asked";
import { Section } from "../../parts/section";
import styles from "./jobs.module.css";

const route = getRouteApi("/jobs/$job");

/** How each evaluator's scores are spread; each bar is a filter of the results. */
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
      <div className={styles.bins}>
        {one.counts.map((cells, at) => (
          <Bin key={one.edges[at]} one={one} at={at} height={cells / most} />
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

function Bin({ one, at, height }: { one: Spread; at: number; height: number }) {
  const { evaluator, at_least } = route.useSearch();
  const navigate = useNavigate({ from: "/jobs/$job" });
  const [low, high, results] = [one.edges[at], one.edges[at + 1], one.counts[at] ?? 0];
  const isLast = at === one.counts.length - 1;
  const isChosen = evaluator === one.evaluator && at_least === low;
  const filter = { evaluator: one.evaluator, at_least: low, below: isLast ? undefined : high };
  return (
    <button
      type="button"
      aria-pressed={isChosen}
      disabled={results === 0}
      title={`${score(low)} to ${score(high)}: ${counted(results, "result")}`}
      aria-label={`${one.evaluator}, ${score(low)} to ${score(high)}, ${counted(results, "result")}`}
      onClick={() => navigate({ search: ({ by }) => ({ by, ...(isChosen ? {} : filter) }), resetScroll: false })}
    >
      <span style={{ height: `${height * 100}%` }} />
    </button>
  );
}
