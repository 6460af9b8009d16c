import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { objective, SAMPLED_MS } from "../../api/administration";
import { answered, api } from "../../api/client";
import type { HealthHistory, Range } from "../../api/schema";
import { counted } from "../../design/numbers";
import { Asked } from "../../parts/asked";
import { Section, Settling } from "../../parts/section";
import { Loading } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { Time } from "../../parts/time";
import { RANGE_WORDS, RANGES } from "./choices";
import styles from "./history.module.css";
import { burnWords, times } from "./promises";
import { gapsOf, type Line, PLOTS, type Plot, stepsOf, type Told, toldOf } from "./series";

const Charts = lazy(() => import("./charts"));
const route = getRouteApi("/health");

const samples = (range: Range) =>
  queryOptions({
    queryKey: ["health", range],
    queryFn: ({ signal }) => answered(api.GET("/api/v1/health/samples", { params: { query: { range } }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: SAMPLED_MS,
  });

/** How the installation was, over an hour, a day or a week. `ended`: attempts that ended lately. */
export function History({ ended }: { ended: number | null }) {
  const { range = "1h" } = route.useSearch();
  const asked = useQuery(samples(range));
  return (
    <Section title="How it went" tools={<Ranges range={range} />}>
      <Burned range={range} />
      <Settling>
        <div className={styles.space}>
          <Asked query={asked} what="samples" rows={16}>
            {(told) => (
              <Suspense fallback={<Loading what="charts" rows={16} />}>
                <Charts history={told as HealthHistory} ended={ended} />
              </Suspense>
            )}
          </Asked>
        </div>
        {asked.data && <Twin history={asked.data as HealthHistory} />}
      </Settling>
    </Section>
  );
}

/** `SLO burn 0.3×` over the range that is shown, and what it is of. */
function Burned({ range }: { range: Range }) {
  const asked = useQuery(objective(range));
  const told = asked.data;
  return (
    <p className={styles.burn}>
      <span title="Times the share that the objective allows to be lost; at 1× the error budget is just used up">
        SLO burn <b>{times(told?.burn.rate ?? null)}</b>
      </span>{" "}
      <span className="muted">· {told ? burnWords(told, range) : (asked.error?.message ?? "asked for")}</span>
    </p>
  );
}

function Ranges({ range }: { range: Range }) {
  return (
    <nav className={styles.ranges} aria-label="How far back">
      {RANGES.map((one) => (
        <Link
          key={one}
          to="/health"
          search={one === "1h" ? {} : { range: one }}
          data-current={one === range ? "" : undefined}
          activeOptions={{ exact: true, includeSearch: true }}
          title={RANGE_WORDS[one]}
          resetScroll={false}
        >
          {one}
        </Link>
      ))}
    </nav>
  );
}

interface TwinRow extends Told {
  plot: Plot;
  line: Line;
}

/** The charts as rows. */
function Twin({ history }: { history: HealthHistory }) {
  const steps = stepsOf(history);
  const gaps = gapsOf(history);
  const missing = gaps.reduce((sum, one) => sum + one.last - one.first + 1, 0);
  const rows = PLOTS.flatMap((plot) =>
    plot.lines.map((line): TwinRow => ({ plot, line, ...toldOf(history.series[line.name]) })),
  );
  const columns: readonly Column<TwinRow>[] = [
    { name: "Of", cell: ({ plot, line }) => `${plot.title}: ${line.label}` },
    { name: "Now", kind: "number", cell: ({ plot, now }) => plot.write(now) },
    { name: "Lowest", kind: "number", cell: ({ plot, lowest }) => plot.write(lowest) },
    { name: "Highest", kind: "number", cell: ({ plot, highest }) => plot.write(highest) },
    { name: "Highest at", cell: ({ at }) => <At seconds={at === null ? undefined : steps[at]} /> },
  ];
  return (
    <details className={styles.twin}>
      <summary>
        As a table
        {missing > 0 && `; nothing was sampled in ${counted(missing, "step")} of ${history.series.relay_lag.length}`}
      </summary>
      <Table caption="What the charts show" columns={columns} rows={rows} keyOf={({ line }) => line.name} />
    </details>
  );
}

function At({ seconds }: { seconds: number | undefined }) {
  return seconds === undefined ? null : <Time at={new Date(seconds * 1000).toISOString()} />;
}
