import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import { leaderboard, matrixIds, runSet } from "../../api/queries";
import type { Leaderboard, RunSetStatus } from "../../api/schema";
import { NARROW, useMedia } from "../../design/media";
import { cost, count, counted, duration, percent, perMinute, roughly } from "../../design/numbers";
import { type Owner, order, words } from "../../design/outcomes";
import { Blocked } from "../../parts/blocked";
import { Button } from "../../parts/button";
import { Field, Select } from "../../parts/field";
import { Pills } from "../../parts/pills";
import { Rates } from "../../parts/rates";
import { Filtered } from "../../parts/section";
import { Empty, Failed, Loading, Stale } from "../../parts/states";
import { Time } from "../../parts/time";
import { useTitle } from "../../parts/title";
import { useKeys } from "../../shell/keys";
import { Actions } from "./actions";
import { CellTable } from "./cell-table";
import { Inspector } from "./inspector";
import { useLiveCells } from "./live-cells";
import { type Cells, isFilter, matching } from "./matrix/cells";
import { Matrix, type MatrixHandle, type Named } from "./matrix/matrix";
import { columnOf } from "./matrix/painter";
import { sorted } from "./matrix/sorting";
import { choiceOf, type Retry, useRetry } from "./retrying";
import styles from "./run-set.module.css";
import { filterOf, PITCHES, type RunSetSearch, SORTS, type Sort, VIEWS, type View } from "./search";
import { TaskList } from "./task-list";

const route = getRouteApi("/run-sets/$runSet");
const VIEW_WORDS: Record<View, string> = { grid: "Grid", table: "Table", tasks: "Tasks" };
const SORT_WORDS: Record<Sort, string> = { strength: "strength × difficulty", file: "as in the file", name: "by name" };

/** A run set as it happens: its rates, what is owed and until when, and every cell. */
export function RunSetPage() {
  const { runSet: id } = route.useParams();
  return <RunSet key={id} id={id} />; // what was done and said is of this one
}

function RunSet({ id }: { id: string }) {
  const status = useQuery(runSet(id));
  const board = useQuery(leaderboard(id));
  const handle = useRef<MatrixHandle>(null);
  const { asked, cells, version, need } = useLiveCells(id, handle);
  const row = asked.data?.run_set ?? status.data?.run_set;
  useTitle("Run set", row?.name);
  const retry = useRetry(row);
  const failed = [status, asked, board].filter((one) => one.error);
  const retryFailed = () => void Promise.all(failed.map((one) => one.refetch()));
  const error = status.error ?? asked.error;
  if (error && status.data === undefined) return <Failed page={`Run set ${id}`} error={error} retry={retryFailed} />;
  const [stale] = failed.filter((one) => one.data !== undefined);
  return (
    <div className={styles.page} data-wide>
      {stale && <Stale error={stale.error} since={stale.dataUpdatedAt} retry={retryFailed} />}
      <header className={styles.head}>
        <h1>
          {row?.name ?? "…"} <small>{status.data ? words(status.data.run_set.state) : ""}</small>
        </h1>
        {status.data && <Actions row={status.data.run_set} since={status.dataUpdatedAt} />}
      </header>
      {board.data ? (
        <Rates rates={board.data.rates} cells={addresses(id)} headline />
      ) : board.error ? (
        <Failed error={board.error} retry={() => board.refetch()} />
      ) : (
        <div className={styles.rates}>
          <Loading what="rates" rows={2} />
        </div>
      )}
      {status.data && !board.isPending ? (
        <Facts status={status.data} board={board.data} />
      ) : (
        <p className={styles.facts}>&nbsp;</p>
      )}
      {status.data && <Blocked waits={status.data.progress.waits} />}
      {cells === null && asked.error ? (
        <Failed error={asked.error} retry={retryFailed} />
      ) : cells === null ? (
        <Loading what="cells" rows={12} />
      ) : cells.size === 0 ? (
        <Empty>There are no cells yet.</Empty>
      ) : (
        <CellsOfRunSet
          id={id}
          cells={cells}
          version={version}
          handle={handle}
          retry={retry}
          stopped={row?.state === "paused" || row?.state === "cancelled"}
          need={need}
        />
      )}
    </div>
  );
}

const ALL = { class: undefined, owner: undefined, owed: undefined, decided: undefined };

/** One name is said by the lists and fields of the page, several by what was drawn over. */
function oneOrSome(names: Named): Partial<RunSetSearch> {
  if ("profiles" in names) {
    const [only, ...more] = names.profiles;
    return more.length > 0 ? { profiles: names.profiles, profile: undefined } : { profile: only, profiles: undefined };
  }
  const [only, ...more] = names.tasks;
  return more.length > 0 ? { tasks: names.tasks, task: undefined } : { task: only, tasks: undefined };
}

function addresses(id: string) {
  const at = (search: string) => `/run-sets/${id}${search}`;
  return { passed: at("?class=passed"), decided: at("?decided=true"), owed: at("?owed=true"), all: at("") };
}

function Facts({ status, board }: { status: RunSetStatus; board: Leaderboard | undefined }) {
  const { progress, clocks, run_set: row } = status;
  const usage = board?.rows.map((one) => one.usage) ?? [];
  const sum = (of: (one: (typeof usage)[number]) => number) => usage.reduce((total, one) => total + of(one), 0);
  const [attempts, priced] = [sum((one) => one.attempts), sum((one) => one.priced)];
  const spent = priced === 0 ? (attempts === 0 ? 0 : null) : sum((one) => one.cost_nano ?? 0);
  return (
    <p className={styles.facts}>
      <span>
        {count(board?.rates.counts.decided ?? progress.decided)} of{" "}
        {counted(board?.rates.counts.expected ?? progress.expected, "cell")} have a verdict
      </span>
      {progress.running > 0 && <span>{count(progress.running)} running</span>}
      {progress.queued > 0 && <span>{count(progress.queued)} queued</span>}
      {progress.waiting > 0 && <span>{count(progress.waiting)} waiting</span>}
      {progress.dead > 0 && <span>{count(progress.dead)} given up</span>}
      {["paused", "cancelled"].includes(row.state) && row.reason && <span>{row.reason}</span>}
      {board && (
        <span title="All attempts behind the cells">
          {cost(spent, attempts ? priced / attempts : null)}
          {attempts > 0 &&
            priced < attempts &&
            ` · usage ${percent(priced / attempts)} of ${counted(attempts, "attempt")}`}
        </span>
      )}
      {status.per_minute != null && (
        <span>
          {perMinute(status.per_minute)}
          {status.left_sec != null && ` · about ${roughly(status.left_sec)} left`}
        </span>
      )}
      {clocks.worked_sec > 0 && <span className="muted">attempts worked {duration(clocks.worked_sec)} in all</span>}
    </p>
  );
}

interface CellsProps {
  id: string;
  cells: Cells;
  version: number;
  handle: React.RefObject<MatrixHandle | null>;
  retry: Retry | null;
  /** It goes on as a whole or not at all: none of its cells is tried alone. */
  stopped: boolean;
  /** Have the ids of cells soon. */
  need: () => void;
}

function CellsOfRunSet({ id, cells, version, handle, retry, stopped, need }: CellsProps) {
  const client = useQueryClient();
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/run-sets/$runSet" });
  const [under, setUnder] = useState(-1);
  const filter = filterOf(search);
  const isFiltered = isFilter(filter);
  const filterKey = JSON.stringify(filter);
  // biome-ignore lint/correctness/useExhaustiveDependencies: by what it says; `version`: the cells changed in place
  const matched = useMemo(() => (isFiltered ? matching(cells, filter) : null), [cells, filterKey, version]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says that the cells changed in place
  const parts = useMemo(
    () => cells.counts().sort((a, b) => Number(b.decided) - Number(a.decided) || order(a.state, b.state)),
    [cells, version],
  );
  const sort = search.sort ?? "strength";
  const { rows, tasks } = useMemo(() => sorted(cells, sort), [cells, sort]);
  useEffect(() => {
    if (under >= 0 || search.cell || search.view === "table") need();
  }, [under, search.cell, search.view, need]);
  const pinned = search.cell ? cells.placeOf(search.cell) : -1;
  const cursor = pinned >= 0 ? pinned : under;
  const usual = useMedia(NARROW) ? "tasks" : "grid";
  const view = search.view ?? usual;
  const pitch = search.pitch ?? fitting(tasks.length, cells.trials);

  const say = (change: Partial<RunSetSearch>, replace = true) =>
    navigate({ search: (before) => ({ ...before, ...change }), replace, resetScroll: false });
  const choose = (state: string, add: boolean) => {
    const now = search.class ?? [];
    const without = now.filter((one) => one !== state);
    const next = now.includes(state) ? without : add ? [...now, state] : [state];
    say({ ...ALL, class: next.length ? next : undefined }, false);
  };
  const chooseOwner = (owner: Owner) =>
    say({ ...ALL, owner: search.owner?.includes(owner) ? undefined : [owner] }, false);
  const clear = () =>
    say({ ...ALL, profile: undefined, task: undefined, profiles: undefined, tasks: undefined }, false);
  const pin = async (index: number) => say({ cell: (await client.fetchQuery(matrixIds(id))).cell[index] });
  const open = async (index: number) => {
    if (index < 0) return;
    const attempt = cells.columns.attempt[index] ?? (await client.fetchQuery(matrixIds(id))).attempt[index];
    if (attempt) void navigate({ to: "/attempts/$attempt", params: { attempt }, search: { of: id } as never });
  };
  const zoom = (by: number) => {
    const at = PITCHES.indexOf(pitch as (typeof PITCHES)[number]) + by;
    say({ pitch: PITCHES[Math.max(0, Math.min(PITCHES.length - 1, at))] });
  };
  const seek = (by: number) => {
    const next = nextOwed(cells, rows, tasks, cursor, by);
    if (next >= 0) void pin(next);
  };
  const owed = matched === null ? 0 : matched.reduce((sum, one, at) => sum + (one && !cells.isDecided(at) ? 1 : 0), 0);
  const meant = owed > 0 ? choiceOf(filter) : null;
  const retryFiltered = retry && meant ? () => retry.ask(meant, owed) : null;
  const pinnedId = pinned >= 0 && !cells.isDecided(pinned) ? cells.view(pinned).id : null;
  const retryPinned = retry && pinnedId ? () => retry.ask({ outcomes: [], cell: pinnedId }, 1) : null;
  const retryNow = retryPinned ?? retryFiltered;
  useKeys([
    ...(retryNow ? [{ keys: "r", what: "Try the owed cells again that are chosen", run: retryNow }] : []),
    { keys: "n", what: "Next owed cell", run: () => seek(1) },
    { keys: "N", what: "Previous owed cell", run: () => seek(-1) },
    { keys: "o", what: "Open the cell's attempt", run: () => void open(cursor) },
    { keys: "t", what: "Grid or table", run: () => say({ view: view === "table" ? undefined : "table" }) },
    { keys: "+", what: "Larger cells", run: () => zoom(1) },
    { keys: "-", what: "Smaller cells", run: () => zoom(-1) },
    { keys: "0", what: "Cells in their usual size", run: () => say({ pitch: undefined }) },
    {
      keys: "/",
      what: "Filter by task",
      run: () => document.querySelector<HTMLInputElement>("[data-filter]")?.focus(),
    },
    { keys: "Escape", what: "Unpin, or show all cells", run: () => (search.cell ? say({ cell: undefined }) : clear()) },
    ...parts.slice(0, 9).map((one, at) => ({
      keys: String(at + 1),
      what: `Only ${words(one.state)}`,
      run: () => choose(one.state, false),
    })),
  ]);
  const found = matched === null ? cells.size : matched.reduce((sum, one) => sum + one, 0);
  return (
    <>
      <Pills
        parts={parts}
        chosen={filter.state ?? []}
        choose={choose}
        owners={search.owner ?? []}
        chooseOwner={chooseOwner}
      />
      <div className={styles.tools}>
        <Select
          label="Sort"
          value={sort}
          onChange={(event) =>
            say({ sort: event.target.value === "strength" ? undefined : (event.target.value as Sort) })
          }
          options={SORTS.map((one) => ({ value: one, label: SORT_WORDS[one] }))}
        />
        <Select
          label="Profile"
          value={search.profile ?? ""}
          onChange={(event) => say({ profile: event.target.value || undefined }, false)}
          options={[
            { value: "", label: "all" },
            ...[...cells.profiles].sort().map((one) => ({ value: one, label: one })),
          ]}
        />
        <Field
          label="Task"
          data-filter
          type="search"
          value={search.task ?? ""}
          onChange={(event) => say({ task: event.target.value || undefined })}
        />
        <fieldset className={styles.views}>
          <legend className="hidden">View</legend>
          {VIEWS.map((one) => (
            <Button
              key={one}
              aria-pressed={view === one}
              onClick={() => say({ view: one === usual ? undefined : one })}
            >
              {VIEW_WORDS[one]}
            </Button>
          ))}
        </fieldset>
      </div>
      {isFiltered && (
        <Filtered words={`filtered, ${count(found)} of ${counted(cells.size, "cell")}`} clear={clear}>
          {view !== "table" && <Button onClick={() => say({ view: "table" })}>open as table</Button>}
          {retryFiltered && (
            <Button onClick={retryFiltered} disabled={retry?.isPending}>
              try {counted(owed, "cell")} again
            </Button>
          )}
        </Filtered>
      )}
      {retry?.said && (
        <p role={retry.failed ? "alert" : "status"} className={styles.facts}>
          {retry.said}
          {!retry.failed && (
            <>
              , <Time at={new Date(retry.at).toISOString()} exact />
            </>
          )}
        </p>
      )}
      <div className={styles.body}>
        {view === "grid" ? (
          <Matrix
            cells={cells}
            rows={rows}
            tasks={tasks}
            pitch={pitch}
            matched={matched}
            cursor={cursor}
            moved={(index) => (pinned >= 0 ? undefined : setUnder(index))}
            pinned={pin}
            named={(names) => say(oneOrSome(names), false)}
            handle={handle}
          />
        ) : view === "table" ? (
          <CellTable runSet={id} cells={cells} rows={rows} tasks={tasks} matched={matched} version={version} />
        ) : (
          <TaskList cells={cells} rows={rows} tasks={tasks} matched={matched} version={version} pin={pin} />
        )}
        <Inspector
          runSet={id}
          cell={cursor >= 0 ? cells.view(cursor) : null}
          pinned={pinned >= 0}
          retry={retryPinned}
          stopped={stopped}
          unpin={() => say({ cell: undefined })}
        />
      </div>
    </>
  );
}

/** The size at which all tasks fit on the screen, if there is one. */
function fitting(tasks: number, trials: number): number {
  const room = globalThis.innerWidth - 800;
  const wide = (pitch: number) => tasks * columnOf(trials, pitch);
  return [...PITCHES].reverse().find((pitch) => wide(pitch) <= room) ?? PITCHES[0];
}

/** The next owed cell in the order of the rows, from a cell on, around the end. */
export function nextOwed(
  cells: Cells,
  rows: readonly number[],
  tasks: readonly number[],
  from: number,
  by: number,
): number {
  const all: number[] = [];
  for (const profile of rows) {
    for (const task of tasks) {
      for (let trial = 0; trial < cells.trials; trial++) {
        const index = cells.at(profile, task, trial);
        if (index >= 0 && (index === from || !cells.isDecided(index))) all.push(index);
      }
    }
  }
  const owed = all.filter((index) => !cells.isDecided(index));
  if (owed.length === 0) return -1;
  const at = all.indexOf(from);
  const next = all[(at + by + all.length) % all.length];
  return next === undefined || at < 0 ? (owed[by > 0 ? 0 : owed.length - 1] ?? -1) : next;
}
