import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { useLive } from "../../api/live-context";
import { attempt as attemptQuery, cell as cellQuery, matrix, matrixIds } from "../../api/queries";
import { useThrottled } from "../../api/throttle";
import { useMedia, WIDE } from "../../design/media";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { Failed, Loading, Stale } from "../../parts/states";
import { useTitle } from "../../parts/title";
import { stepKeys, useKeys } from "../../shell/keys";
import styles from "./attempt.module.css";
import { type Attempt, type EvidenceRow, outcomeOf } from "./documents";
import { EvidenceColumn, EvidenceView } from "./evidence";
import { Files } from "./files";
import { Find } from "./find";
import { copyLink, Head, WhyLine } from "./head";
import { neighboursOf } from "./neighbours";
import { Outline } from "./outline";
import { Phases } from "./phases";
import { Raw } from "./raw";
import { type AttemptSearch, VIEWS, type View } from "./search";
import { nextOf, type Steps } from "./steps";
import { Terminal } from "./terminal";
import { Trajectory, type TrajectoryHandle } from "./trajectory";
import { useSteps } from "./use-steps";

const route = getRouteApi("/attempts/$attempt");
/** Between two looks at which cells are failed or owed, while the run set goes on. */
const OTHERS_MS = 5000;
const VIEW_WORDS: Record<View, string> = {
  conversation: "Conversation",
  terminal: "Terminal",
  files: "Files",
  evidence: "Evidence",
  raw: "Raw",
};

/** One attempt: why it is what it is, and everything that led there. */
export function AttemptPage() {
  const { attempt: id } = route.useParams();
  const asked = useQuery(attemptQuery(id));
  const attempt = asked.data ?? null;
  useTitle("Attempt", attempt ? undefined : id.slice(0, 13));
  if (asked.error && attempt === null) {
    return <Failed page={`Attempt ${id.slice(0, 13)}`} error={asked.error} retry={() => asked.refetch()} />;
  }
  if (attempt === null) return <Loading what="the attempt" rows={16} />;
  return (
    <>
      {asked.error && <Stale error={asked.error} since={asked.dataUpdatedAt} retry={() => asked.refetch()} />}
      <Known key={attempt.attempt.id} id={id} attempt={attempt} />
    </>
  );
}

/** An attempt whose evidence is there; its steps may still be on their way. */
function Known({ id, attempt }: { id: string; attempt: Attempt }) {
  const { cell_id: cellId, id: whole } = attempt.attempt;
  const client = useQueryClient();
  const navigate = useNavigate();
  const { runSet, cell } = useCell(attempt);
  const cells = useQuery(matrix(runSet)).data;
  const ids = useQuery(matrixIds(runSet)).data;
  const own = cell.data?.attempts.find((one) => one.id === whole);
  const outcome = outcomeOf(attempt, cell.data?.run_set.policy_version);
  const neighbours = useMemo(
    () => (cells && ids?.cell.length === cells.cells.passed.length ? neighboursOf(cells, ids, cellId) : null),
    [cells, ids, cellId],
  );
  useTitle("Attempt", cell.data && `${cell.data.profile} · ${cell.data.task} · ${cell.data.cell.trial}`);
  const again = () => {
    void client.invalidateQueries({ queryKey: ["attempt", id], exact: true });
    void client.invalidateQueries({ queryKey: ["run-set", runSet, "cell", cellId] });
  };
  const others = useThrottled(
    useCallback(
      () =>
        client.invalidateQueries({
          predicate: ({ queryKey: [what, which, of] }) =>
            what === "run-set" && which === runSet && (of === "matrix" || of === "ids"),
        }),
      [client, runSet],
    ),
    OTHERS_MS,
  );
  const all = () => {
    again();
    others();
  };
  useLive(`run-set:${runSet}`, undefined, {
    event: ({ name, subject, payload }) => {
      if (subject === whole || payload.cell === cellId) again();
      if (name === "attempt.ended" || name === "attempt.regraded") others();
    },
    gap: all,
    poll: all,
  });
  const go = (to: string | null | undefined) =>
    to &&
    void navigate({
      to: "/attempts/$attempt",
      params: { attempt: to },
      search: ({ view, of }) => ({ view, of }) as never,
    });
  const sibling = (by: 1 | -1) => {
    const all = cell.data?.attempts ?? [];
    go(all[all.findIndex((one) => one.id === whole) + by]?.id);
  };
  useKeys([
    { keys: "[", what: "Previous failed or owed cell", run: () => go(neighbours?.before) },
    { keys: "]", what: "Next failed or owed cell", run: () => go(neighbours?.after) },
    { keys: "{", what: "Attempt before at this cell", run: () => sibling(-1) },
    { keys: "}", what: "Next attempt at this cell", run: () => sibling(1) },
    { keys: "y", what: "Copy a link to the step", run: () => void copyLink() },
  ]);
  const say = useSay();
  const openEvidence = (phase: number | undefined) => say({ view: "evidence", phase }, false);
  if (cell.isPending) return <Loading what="the attempt" rows={16} />;
  return (
    <div className={styles.page} data-wide>
      <Head attempt={attempt} cell={cell.data} neighbours={neighbours} go={go} />
      <WhyLine attempt={attempt} outcome={outcome} why={own?.why} openEvidence={openEvidence} />
      <Phases attempt={attempt} open={(phase: EvidenceRow) => openEvidence(phase.seq)} />
      <Shown id={id} attempt={attempt} outcome={outcome} />
    </div>
  );
}

/** The cell as the run set has it that one comes from, or else the one that the attempt was made for. */
function useCell({ attempt: { run_set_id: own, cell_id: cell } }: Attempt) {
  const { of = own } = route.useSearch();
  const say = useSay();
  const from = useQuery({ ...cellQuery(of, cell), enabled: of !== own });
  const asked = useQuery({ ...cellQuery(own, cell), enabled: of === own || from.isError });
  useEffect(() => {
    if (of === own) say({ of: undefined });
  }, [of, own, say]);
  return of === own || from.isError ? { runSet: own, cell: asked } : { runSet: of, cell: from };
}

/** Change what the address says. */
function useSay() {
  const navigate = useNavigate({ from: "/attempts/$attempt" });
  return useCallback(
    (change: Partial<AttemptSearch>, replace = true) =>
      void navigate({ search: (before) => ({ ...before, ...change }), replace, resetScroll: false }),
    [navigate],
  );
}

interface ShownProps {
  id: string;
  attempt: Attempt;
  outcome: ReturnType<typeof outcomeOf>;
}

function Shown({ id, attempt, outcome }: ShownProps) {
  const search = route.useSearch();
  const say = useSay();
  const { steps, error, again } = useSteps(id);
  const isWide = useMedia(WIDE);
  const [sheet, setSheet] = useState<"outline" | "evidence" | null>(null);
  const [seen, setSeen] = useState<readonly [number, number]>([1, 1]);
  const moved = useCallback((first: number, last: number) => setSeen([first, last]), []);
  const handle = useRef<TrajectoryHandle>(null);
  const view = search.view ?? "conversation";
  const current = useCurrent(steps, search.step, outcome?.class === "passed");
  const choose = useCallback(
    (step: number) => {
      say({ step });
      handle.current?.show(step);
      setSheet(null);
    },
    [say],
  );
  const { expanded, expand } = useExpanded();
  const show = (one: View) => say({ view: one === "conversation" ? undefined : one, phase: undefined }, false);
  const find = useCallback((text: string | undefined) => say({ find: text }), [say]);
  const [finds, setFinds] = useState(search.find !== undefined);
  const sayFind = useCallback(
    (text: string | undefined) => {
      find(text || undefined);
      if (text === undefined) setFinds(false);
    },
    [find],
  );
  const startFind = () => {
    setFinds(true);
    if (view !== "conversation" && view !== "raw") show("conversation");
  };
  useStepKeys({ steps, current, handle, choose, expand, startFind, show });
  const evidence = <EvidenceColumn attempt={attempt} outcome={outcome} />;
  const outlined = useDeferredValue(steps, null); // it goes over all steps: after those in sight are there
  const outline = outlined !== null && !isEmpty(outlined, attempt) && (
    <Outline steps={outlined} current={current} seen={seen} choose={choose} />
  );
  return (
    <>
      <div className={styles.tools}>
        <fieldset className={styles.views}>
          <legend className="hidden">View</legend>
          {VIEWS.map((one) => (
            <Button key={one} aria-pressed={view === one} onClick={() => show(one)}>
              {VIEW_WORDS[one]}
            </Button>
          ))}
        </fieldset>
        {!isWide && <Button onClick={() => setSheet("outline")}>Outline</Button>}
        {!isWide && <Button onClick={() => setSheet("evidence")}>Evidence at a glance</Button>}
        <Button onClick={startFind} title="Find in all steps (f)">
          Find
        </Button>
        <Hints />
      </div>
      {finds && (
        <Find
          attempt={id}
          steps={steps?.count ?? 0}
          text={search.find ?? ""}
          current={current}
          say={sayFind}
          choose={choose}
        />
      )}
      {view === "terminal" && <Terminal attempt={attempt} />}
      {view === "files" && <Files attempt={attempt} />}
      {view === "evidence" && <EvidenceView attempt={attempt} phase={search.phase} />}
      {view === "raw" && <Raw attempt={id} step={current} hasWhole={hasWhole(attempt)} />}
      {view === "conversation" && (
        <div className={styles.body}>
          {isWide && (outline || <div />)}
          {error ? (
            <Failed error={error} retry={again} />
          ) : steps === null ? (
            <Loading what="steps" rows={12} />
          ) : isEmpty(steps, attempt) ? (
            <NoSteps attempt={attempt} />
          ) : (
            <Trajectory
              attempt={id}
              steps={steps}
              current={current}
              isChosen={search.step !== undefined}
              expanded={expanded}
              expand={expand}
              choose={choose}
              handle={handle}
              moved={moved}
            />
          )}
          {isWide && evidence}
        </div>
      )}
      {sheet && (
        <Dialog title={sheet === "outline" ? "Outline" : "Evidence"} close={() => setSheet(null)}>
          {sheet === "outline" ? outline : evidence}
          <Button onClick={() => setSheet(null)}>Close</Button>
        </Dialog>
      )}
    </>
  );
}

function Hints() {
  return (
    <small className={styles.hints} aria-hidden="true">
      <kbd>j</kbd> <kbd>k</kbd> step · <kbd>e</kbd> error · <kbd>d</kbd> diff · <kbd>f</kbd> find · <kbd>.</kbd> expand
      · <kbd>[</kbd> <kbd>]</kbd> cell · <kbd>?</kbd> all
    </small>
  );
}

function NoSteps({ attempt }: { attempt: Attempt }) {
  const { ended_at, phase } = attempt.attempt;
  const last = attempt.evidence.filter((one) => one.detail.failed).at(-1)?.phase ?? attempt.evidence.at(-1)?.phase;
  const began = attempt.evidence.some((one) => one.phase === "agent");
  return (
    <div className={styles.none}>
      <p>
        {ended_at === null
          ? `No steps yet${phase && `: it is in phase ${phase}`}.`
          : began
            ? "No trajectory: the agent told of no steps."
            : `No trajectory: the agent never started (phase ${last ?? "unknown"}).`}
      </p>
    </div>
  );
}

/** Whether nothing was done: a trajectory has at least one step, in which an agent that never began says so. */
function isEmpty(steps: Steps, attempt: Attempt): boolean {
  const began = attempt.evidence.some((one) => one.phase === "agent");
  return steps.count === 0 || (steps.kinds === "s" && !steps.running && !began);
}

function hasWhole(attempt: Attempt): boolean {
  return attempt.attempt.artifacts.some((one) => one.name === "trajectory.json");
}

/** The step that keys act on: of the address, else the deciding one, which stays the same while the page is open. */
function useCurrent(steps: Steps | null, chosen: number | undefined, passed: boolean): number {
  if (steps === null || steps.count === 0) return chosen ?? 1;
  return chosen === undefined ? steps.deciding(passed) : Math.min(chosen, steps.count);
}

function useExpanded() {
  const [expanded, setExpanded] = useState<ReadonlySet<number>>(() => new Set());
  const expand = useCallback((step: number) => {
    setExpanded((before) => {
      const next = new Set(before);
      if (!next.delete(step)) next.add(step);
      return next;
    });
  }, []);
  return { expanded, expand };
}

interface StepKeys {
  steps: Steps | null;
  current: number;
  handle: React.RefObject<TrajectoryHandle | null>;
  choose: (step: number) => void;
  expand: (step: number) => void;
  startFind: () => void;
  show: (view: View) => void;
}

function useStepKeys({ steps, current, handle, choose, expand, startFind, show }: StepKeys): void {
  const from = () => {
    const shown = handle.current;
    return shown === null || shown.isInSight(current) ? current : null;
  };
  const by = (go: (step: number) => number | undefined) => {
    if (steps === null || steps.count === 0) return;
    const to = go(current);
    if (to !== undefined) choose(Math.min(steps.count, Math.max(1, to)));
  };
  /** A reader who went elsewhere goes on from there. */
  const move = (distance: 1 | -1) => by((step) => (from() === null ? handle.current?.top() : step + distance));
  useKeys([
    ...stepKeys("step", move),
    { keys: "J", what: "Next turn", run: () => by((step) => steps?.turnFrom(step, 1)) },
    { keys: "K", what: "Previous turn", run: () => by((step) => steps?.turnFrom(step, -1)) },
    { keys: "e", what: "Next error", run: () => by((step) => nextOf(steps?.failed ?? [], step)) },
    { keys: "d", what: "Next diff", run: () => by((step) => nextOf(steps?.edits ?? [], step)) },
    { keys: "f", what: "Find in all steps", run: startFind },
    { keys: ".", what: "Expand or fold the step", run: () => expand(current) },
    ...VIEWS.map((view, at) => ({ keys: String(at + 1), what: VIEW_WORDS[view], run: () => show(view) })),
  ]);
}
