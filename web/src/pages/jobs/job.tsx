import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useCallback } from "react";
import { answered, api } from "../../api/client";
import { job } from "../../api/data";
import { useLive } from "../../api/live-context";
import { useMay } from "../../api/permitted";
import type { EvaluatorSummary, Job, JobStanding } from "../../api/schema";
import { useThrottled } from "../../api/throttle";
import { cost, count, counted, mean, percent, range, roughly } from "../../design/numbers";
import { words } from "../../design/outcomes";
import { Asked } from "../../parts/asked";
import { Button } from "../../parts/button";
import { Figure } from "../../parts/figure";
import { PageHead, Section, Settling } from "../../parts/section";
import { type Column, Table } from "../../parts/table";
import { Time } from "../../parts/time";
import { useTitle } from "../../parts/title";
import { useKeys } from "../../shell/keys";
import { chunksWords } from "./chunks";
import { Distributions } from "./distributions";
import { Failures } from "./failures";
import styles from "./jobs.module.css";
import { Results } from "./results";
import { LIVE_MS } from "./search";
import { SegmentTables } from "./segments";

const route = getRouteApi("/jobs/$job");
const RUNS = new Set(["queued", "running"]);

/** A job: how far it is, each evaluator's mean with its coverage, how scores are spread, what failed and how. */
export function JobPage() {
  const { job: id } = route.useParams();
  const asked = useFollowedJob(id);
  useTitle("Job", asked.data?.job.name);
  return (
    <Asked query={asked} what="the job" page={`Job ${id}`} rows={12}>
      {(standing) => <Standing standing={standing} />}
    </Asked>
  );
}

/** A job as it stands, and as it stands again when an event says that it has changed. */
function useFollowedJob(id: string) {
  const client = useQueryClient();
  const asked = useQuery(job(id));
  const known = asked.data?.job;
  const whole = known?.id ?? id;
  const again = useThrottled(
    useCallback(
      () =>
        client.invalidateQueries({
          predicate: ({ queryKey: [what, which] }) => what === "job" && (which === id || which === whole),
        }),
      [client, id, whole],
    ),
    LIVE_MS,
  );
  useLive(`job:${whole}`, known ? undefined : null, {
    event: again,
    gap: again,
    joined: () => known && RUNS.has(known.state) && again(),
    poll: again,
  });
  return asked;
}

function Standing({ standing }: { standing: JobStanding }) {
  const { job: one, evaluators } = standing;
  if (one.state === "deleted") return <Deleted one={one} />;
  const ended = !RUNS.has(one.state);
  return (
    <Settling className={styles.page}>
      <PageHead
        title={
          <>
            {one.name} <small className="muted">{words(one.state)}</small>
          </>
        }
        tools={<Actions one={one} />}
      />
      <Progress standing={standing} />
      <Table caption="Evaluators" columns={columnsOf(one)} rows={evaluators} keyOf={(row) => row.evaluator} />
      {standing.gaps.length > 0 && (
        <Section title="Chunks that failed each time">
          <ul className={styles.gaps}>
            {standing.gaps.map((gap) => (
              <li key={`${gap.chunk} ${gap.repeat}`}>
                rows {count(gap.start)} to {count(gap.stop)}, repeat {gap.repeat + 1}: {gap.reason}
              </li>
            ))}
          </ul>
        </Section>
      )}
      {ended && (
        <>
          <Distributions id={one.id} evaluators={evaluators} />
          <Failures id={one.id} />
          {one.dataset && <SegmentTables id={one.id} />}
          <Results id={one.id} evaluators={evaluators} />
        </>
      )}
    </Settling>
  );
}

/** What it was stays on record; its results do not. */
function Deleted({ one }: { one: Job }) {
  return (
    <>
      <PageHead
        title={
          <>
            {one.name} <small className="muted">{words(one.state)}</small>
          </>
        }
      />
      <p>
        Its results are gone for good
        {one.deletion && (
          <>
            : deleted <Time at={one.deletion.at} />
          </>
        )}
        . What it was of stays on record.
      </p>
      {one.dataset && one.dataset_version && (
        <p className={styles.facts}>
          <Link to="/datasets/$dataset" params={{ dataset: one.dataset_version }}>
            {one.dataset}
          </Link>
        </p>
      )}
    </>
  );
}

function columnsOf(one: Job): readonly Column<EvaluatorSummary>[] {
  const at = (status: string, { evaluator }: EvaluatorSummary) =>
    `/jobs/${one.id}?${new URLSearchParams({ status, evaluator })}`;
  return [
    { name: "Evaluator", cell: (row) => row.evaluator },
    { name: "Mean", kind: "number", cell: (row) => mean(row.mean) },
    {
      name: "95 %",
      meaning: "Wilson's of scores that are 0 or 1, else Student's t, which near an end may leave the scale",
      kind: "number",
      cell: (row) => range(row.interval),
    },
    {
      name: "n",
      meaning: "Results with a score",
      kind: "number",
      cell: (row) => (
        <Figure to={at("scored", row)} of="scored results">
          {count(row.scored)}
        </Figure>
      ),
    },
    {
      name: "Coverage",
      meaning: "Results with a score, of all expected",
      kind: "number",
      cell: (row) => `${percent(row.coverage)} of ${count(row.expected)}`,
    },
    {
      name: "Bounds",
      meaning: "What missing scores can make of the mean",
      kind: "number",
      cell: (row) => range(row.bounds),
    },
    {
      name: "Without a score",
      cell: (row) =>
        Object.entries(row.counts)
          .filter(([status, cells]) => status !== "scored" && cells > 0)
          .map(([status, cells]) => (
            <Figure key={status} to={at(status, row)} of={`${words(status)} results`}>
              {`${words(status)} ${count(cells)} `}
            </Figure>
          )),
    },
  ];
}

function Progress({
  standing: { job: one, done, expected, per_second: rate, left_sec: left, spent_nano: spent },
}: {
  standing: JobStanding;
}) {
  return (
    <div>
      <progress className={styles.progress} value={done} max={Math.max(1, expected)} aria-label="Results so far" />
      <p className={styles.facts}>
        <span>
          {count(done)} of {counted(expected, "result")}
        </span>
        <span>chunks {chunksWords(one)}</span>
        {rate != null && <span>{count(Math.round(rate))}/s</span>}
        {left != null && <span>about {roughly(left)} left</span>}
        {(spent > 0 || one.budget_nano != null) && (
          <span>
            {cost(spent)}
            {one.budget_nano != null && ` of ${cost(one.budget_nano)}`}
          </span>
        )}
        {one.dataset && one.dataset_version && (
          <Link to="/datasets/$dataset" params={{ dataset: one.dataset_version }}>
            {one.dataset}
          </Link>
        )}
        {one.hold && <span>under a legal hold</span>}
        {one.kept && <span className="muted">kept</span>}
      </p>
    </div>
  );
}

function Actions({ one }: { one: Job }) {
  const client = useQueryClient();
  const done = () => client.invalidateQueries({ queryKey: ["job", one.id] });
  const path = { params: { path: { job: one.id } } };
  const pause = useMutation({
    mutationFn: () => answered(api.POST("/api/v1/jobs/{job}/pause", path)),
    onSuccess: done,
  });
  const resume = useMutation({
    mutationFn: () => answered(api.POST("/api/v1/jobs/{job}/resume", path)),
    onSuccess: done,
  });
  const running = RUNS.has(one.state);
  const act = running ? pause : resume;
  const isAllowed = useMay("runs:write");
  const may = isAllowed && (running || ["paused", "complete_with_gaps", "cancelled"].includes(one.state));
  useKeys(may ? [{ keys: "p", what: running ? "Pause" : "Resume", run: () => act.mutate() }] : []);
  if (!may) return null;
  return (
    <>
      {act.error && <span role="alert">{act.error.message}</span>}
      <Button kind="primary" disabled={act.isPending} onClick={() => act.mutate()}>
        {running ? "Pause" : "Resume"}
      </Button>
    </>
  );
}
