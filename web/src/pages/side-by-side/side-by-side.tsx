import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { attempt as attemptQuery, cell as cellQuery } from "../../api/queries";
import type { CellRow, StepDocument } from "../../api/schema";
import { count, counted } from "../../design/numbers";
import { Button } from "../../parts/button";
import { Select } from "../../parts/field";
import { Chip } from "../../parts/glyph";
import { PageHead } from "../../parts/section";
import { Empty, Failed, Loading } from "../../parts/states";
import { useTitle } from "../../parts/title";
import { useKeys } from "../../shell/keys";
import { meanwhile, outcomeOf } from "../attempt/documents";
import { StepRow } from "../attempt/step/step";
import { useSteps } from "../attempt/use-steps";
import { type Parting, parting, type SideName, sideOf, trialsOf } from "./queries";
import styles from "./side-by-side.module.css";

const route = getRouteApi("/compare/attempts");
/** Steps that are shown before the one at which they part, and from there on. */
const [BEFORE, AFTER] = [2, 30];

/** Two profiles' attempts at one task, beside each other from where they part. */
export function SideBySidePage() {
  const { a = "", b = "", task = "", trial = 1 } = route.useSearch();
  const navigate = useNavigate({ from: "/compare/attempts" });
  const [one, other] = [sideOf(a), sideOf(b)];
  const [ones, others] = [useQuery(trialsOf(one, task)), useQuery(trialsOf(other, task))];
  useTitle("Both attempts", task);
  const most = Math.min(ones.data?.length ?? 0, others.data?.length ?? 0);
  const turn = (to: number) =>
    to >= 1 && to <= most && void navigate({ search: (before) => ({ ...before, trial: to }), replace: true });
  useKeys([
    { keys: "]", what: "Next trial", run: () => turn(trial + 1) },
    { keys: "[", what: "Trial before", run: () => turn(trial - 1) },
  ]);
  const error = ones.error ?? others.error;
  const [mine, theirs] = [ones.data?.[trial - 1], others.data?.[trial - 1]];
  const details = [useDetail(one, mine), useDetail(other, theirs)];
  return (
    <>
      <PageHead
        title={task || "Both attempts"}
        tools={
          <Link to="/compare" search={{ base: a, with: b ? [b] : undefined }}>
            Back to the comparison
          </Link>
        }
      />
      {!task || !one.profile || !other.profile ? (
        <Empty>This address names no two profiles and a task: open it from a task of a comparison.</Empty>
      ) : error ? (
        <Failed error={error} />
      ) : ones.data === undefined || others.data === undefined ? (
        <Loading what="both cells" />
      ) : mine === undefined || theirs === undefined ? (
        <Empty>{`One side has no ${most > 0 ? `trial ${trial}` : "cell"} of this task, so there is nothing beside the other.`}</Empty>
      ) : details.some((each) => each.isPending) ? (
        <Loading what="both cells" />
      ) : (
        <>
          {most > 1 && (
            <Select
              label="Trial"
              value={String(trial)}
              onChange={(event) => turn(Number(event.target.value))}
              options={Array.from({ length: most }, (_, at) => ({
                value: String(at + 1),
                label: `${at + 1} of ${most}`,
              }))}
            />
          )}
          <div className={styles.heads}>
            <Side name={one} cell={mine} />
            <Side name={other} cell={theirs} />
          </div>
          {mine.attempt && theirs.attempt ? (
            <Both key={`${mine.attempt} ${theirs.attempt}`} one={mine.attempt} other={theirs.attempt} />
          ) : (
            <Empty>A side has no attempt yet, so there are no steps to compare.</Empty>
          )}
        </>
      )}
    </>
  );
}

function useDetail({ runSet }: SideName, cell: CellRow | undefined) {
  return useQuery({ ...cellQuery(runSet, cell?.cell ?? ""), enabled: cell !== undefined });
}

/** What came of one side, and why. */
function Side({ name, cell }: { name: SideName; cell: CellRow }) {
  const { runSet, profile } = name;
  const detail = useDetail(name, cell);
  const asked = useQuery({ ...attemptQuery(cell.attempt ?? ""), enabled: cell.attempt !== null });
  const outcome = asked.data && outcomeOf(asked.data, detail.data?.run_set.policy_version);
  const why = detail.data?.attempts.find((one) => one.id === cell.attempt)?.why;
  return (
    <section aria-label={profile} className={styles.side}>
      <h2>
        {cell.attempt ? (
          <Link to="/attempts/$attempt" params={{ attempt: cell.attempt }} search={{ of: runSet }}>
            {profile}
          </Link>
        ) : (
          profile
        )}
      </h2>
      <p className="muted data">trial {cell.trial}</p>
      <p className={styles.why}>
        <Chip name={cell.outcome ?? "not_started"} />{" "}
        <span>{why || (asked.data ? meanwhile(asked.data, outcome) : "no attempt yet")}</span>
      </p>
    </section>
  );
}

function Both({ one, other }: { one: string; other: string }) {
  const asked = useQuery(parting(one, other));
  const [isAll, setAll] = useState(false);
  if (asked.error) return <Failed error={asked.error} retry={() => asked.refetch()} />;
  if (asked.data === undefined) return <Loading what="steps" />;
  const { data } = asked;
  const apart = data.at ?? Math.min(data.one.length, data.other.length) + 1;
  const first = isAll ? 1 : Math.max(1, apart - BEFORE);
  const last = Math.min(apart + AFTER, Math.max(data.one.length, data.other.length));
  return (
    <section aria-label="Steps of both">
      <p role="status" className={styles.parting}>
        {wordsOf(data)}{" "}
        {first > 1 && <Button onClick={() => setAll(true)}>show the {counted(first - 1, "step")} before</Button>}
      </p>
      <div className={styles.heads}>
        <Steps attempt={one} items={data.one} first={first} last={last} at={data.at} />
        <Steps attempt={other} items={data.other} first={first} last={last} at={data.at} />
      </div>
    </section>
  );
}

/** What there is to know before one reads. */
export function wordsOf({ one, other, at, isWhole }: Parting): string {
  if (one.length === 0 && other.length === 0) return "Neither attempt has a trajectory.";
  if (one.length === 0 || other.length === 0) return "One attempt has no trajectory.";
  if (at !== null)
    return at === 1
      ? "They part at the first step."
      : `The same until step ${count(at - 1)}; they part at step ${count(at)}.`;
  if (!isWhole)
    return `The same for ${counted(Math.min(one.length, other.length), "step")}, which is as far as was looked.`;
  if (one.length === other.length) return `All ${counted(one.length, "step")} are the same on both sides.`;
  return `The same until step ${count(Math.min(one.length, other.length))}, where one of them ends.`;
}

interface StepsProps {
  attempt: string;
  items: readonly StepDocument[];
  first: number;
  last: number;
  at: number | null;
}

function Steps({ attempt, items, first, last, at }: StepsProps) {
  const navigate = useNavigate();
  const { steps } = useSteps(attempt);
  const [expanded, setExpanded] = useState<ReadonlySet<number>>(new Set());
  if (steps === null) return <Loading what="steps" />;
  const expand = (step: number) => setExpanded((before) => new Set([...before, step]));
  const choose = (step: number) =>
    void navigate({ to: "/attempts/$attempt", params: { attempt }, search: { step } as never });
  return (
    <div className={styles.steps}>
      {items.slice(first - 1, last).map((body, place) => (
        <StepRow
          key={body.number}
          attempt={attempt}
          number={body.number}
          body={body}
          steps={steps}
          isCurrent={first + place === at}
          isExpanded={expanded.has(body.number)}
          expand={expand}
          choose={choose}
        />
      ))}
    </div>
  );
}
