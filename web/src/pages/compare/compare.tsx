import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { runSets } from "../../api/queries";
import type { Pair } from "../../api/schema";
import { comparedSegments, comparedTasks, comparison } from "../../api/suites";
import { count, counted, UNKNOWN } from "../../design/numbers";
import { Asked } from "../../parts/asked";
import { Button } from "../../parts/button";
import { Copy } from "../../parts/copy";
import { Field, Select } from "../../parts/field";
import { QueryForm } from "../../parts/query-form";
import { Filtered, PageHead } from "../../parts/section";
import { Empty, Failed, Loading } from "../../parts/states";
import { useTitle } from "../../parts/title";
import { useKeys } from "../../shell/keys";
import { Claim } from "./claim";
import styles from "./compare.module.css";
import { reachOf } from "./difference";
import { reportOf, testsOf } from "./report";
import { Scatter } from "./scatter";
import { Segments } from "./segments";
import { TaskRows } from "./task-rows";
import { countOf, KINDS, nameOf, ownReferences, pairName, referencesOf, SHOWN, type Shown } from "./tasks";

const route = getRouteApi("/compare");
const WORDS: Record<Shown, string> = {
  flips: "Flips",
  "both-pass": "Both pass",
  "both-fail": "Both fail",
  owed: "Owed on one side",
  all: "All",
};

/** Two profiles over the tasks that both have: what the difference is, whether it is one, and which tasks make it. */
export function ComparePage() {
  const { base, with: others = [], show = "flips", segment, pair } = route.useSearch();
  const navigate = useNavigate({ from: "/compare" });
  const sides = base ? [base, ...others] : [];
  const asked = useQuery(comparison(sides));
  // The first pair's are asked for at the same time as the comparison, which tells what their columns are called.
  useInfiniteQuery({
    ...comparedTasks(base ?? "", others[0] ?? "", KINDS[show], segment),
    enabled: sides.length > 1 && pair === undefined,
  });
  useTitle("Compare", sides.map(short).join(" and "));
  const swap = () => {
    const [first, ...rest] = others;
    if (base && first)
      void navigate({
        search: (before) => ({ ...before, base: first, with: [base, ...rest], pair: undefined }),
        replace: true,
      });
  };
  useKeys(others.length ? [{ keys: "s", what: "Swap the base", run: swap }] : []);
  return (
    <>
      <PageHead
        title="Compare"
        tools={
          others.length > 0 && (
            <>
              <Button onClick={swap}>Swap the base</Button>
              {asked.data && <Copy text={() => reportOf(asked.data.pairs, globalThis.location.href)}>Copy report</Copy>}
            </>
          )
        }
      />
      <Choice />
      {sides.length < 2 ? (
        <Empty>Name two profiles as RUN SET:PROFILE, or pin rows of the leaderboard and compare them.</Empty>
      ) : (
        <Asked query={asked} what="the comparison">
          {({ pairs: [first, ...rest] }) =>
            first === undefined ? (
              <Empty>These have no task in common, so there is nothing to compare.</Empty>
            ) : (
              <>
                {[first, ...rest].map((pair) => (
                  <Claim
                    key={`${pair.a.title} ${pair.b.title}`}
                    pair={pair}
                    reach={reachOf([first, ...rest].flatMap((one) => [one, ...(one.strict ? [one.strict] : [])]))}
                    pairs={testsOf([first, ...rest])}
                  />
                ))}
                <Parts pairs={[first, ...rest]} />
              </>
            )
          }
        </Asked>
      )}
    </>
  );
}

/** A reference without the length of its run set's id. */
function short(reference: string): string {
  const [runSet = "", profile] = reference.split(":");
  return profile ?? runSet.slice(0, 13);
}

function Choice() {
  const { base, with: others = [] } = route.useSearch();
  const navigate = useNavigate({ from: "/compare" });
  const known = useQuery(runSets({}));
  return (
    <QueryForm
      said={{ base, with: others.join() }}
      ask={(typed) => void navigate({ search: { base: typed("base"), with: typed("with")?.split(/\s*,\s*/) } })}
      className={styles.choice}
    >
      <Field label="Base" name="base" list="run-sets" defaultValue={base} placeholder="nightly:codex" required />
      <Field
        label="With"
        name="with"
        list="run-sets"
        defaultValue={others.join(", ")}
        placeholder="nightly:aider"
        required
      />
      <datalist id="run-sets">
        {known.data?.items.map((one) => (
          <option key={one.id} value={one.name} />
        ))}
      </datalist>
      <Button type="submit" kind="primary">
        Compare
      </Button>
    </QueryForm>
  );
}

/** A pair's tasks, beside them the segments that they fall into and what its sides cost. */
function Parts({ pairs }: { pairs: readonly [Pair, ...Pair[]] }) {
  const { base = "", with: [other = ""] = [], segment, pair: chosen = 1 } = route.useSearch();
  const navigate = useNavigate({ from: "/compare" });
  const pair = pairs[chosen - 1] ?? pairs[0];
  const references = pair === pairs[0] ? referencesOf(pair, base, other) : ownReferences(pair);
  const choose = (chosen: string | undefined) =>
    void navigate({ search: (before) => ({ ...before, segment: chosen }), replace: true });
  useKeys(segment ? [{ keys: "Escape", what: "Show the tasks of all segments", run: () => choose(undefined) }] : []);
  return (
    <>
      {pairs.length > 1 && <PairChoice pairs={pairs} at={pairs.indexOf(pair)} />}
      <div className={styles.parts}>
        <Tasks pair={pair} references={references} clear={() => choose(undefined)} />
        <div>
          <Scatter pair={pair} />
          <Segments references={references} chosen={segment} choose={choose} />
        </div>
      </div>
    </>
  );
}

function PairChoice({ pairs, at }: { pairs: readonly Pair[]; at: number }) {
  const navigate = useNavigate({ from: "/compare" });
  const choose = (chosen: number) =>
    navigate({ search: (before) => ({ ...before, pair: chosen === 1 ? undefined : chosen }), replace: true });
  return (
    <div className={styles.pair}>
      <Select
        label="Tasks and segments of"
        value={String(at + 1)}
        options={pairs.map((one, place) => ({ value: String(place + 1), label: pairName(one) }))}
        onChange={(event) => void choose(Number(event.target.value))}
      />
    </div>
  );
}

interface TasksProps {
  pair: Pair;
  references: readonly [string, string];
  clear: () => void;
}

function Tasks({ pair, references, clear }: TasksProps) {
  const { show = "flips", segment } = route.useSearch();
  const navigate = useNavigate({ from: "/compare" });
  const asked = useInfiniteQuery(comparedTasks(...references, KINDS[show], segment));
  const segments = useQuery({ ...comparedSegments(...references), enabled: segment !== undefined });
  const kinds =
    segment === undefined ? pair.kinds : segments.data?.segments.find((one) => nameOf(one) === segment)?.kinds;
  const rows = useMemo(() => asked.data?.pages.flatMap((page) => page.items), [asked.data]);
  const more = () => {
    if (asked.hasNextPage && !asked.isFetching) void asked.fetchNextPage();
  };
  const choose = (shown: Shown) =>
    navigate({ search: (before) => ({ ...before, show: shown === "flips" ? undefined : shown }), replace: true });
  useKeys(SHOWN.map((shown, at) => ({ keys: String(at + 1), what: WORDS[shown], run: () => void choose(shown) })));
  const all = countOf(pair.kinds, "all");
  const shown = kinds && countOf(kinds, show);
  const found = shown ?? rows?.length ?? 0;
  return (
    <section aria-label="Tasks" className={styles.tasks}>
      <div className={styles.pills} role="group" aria-label="Show">
        {SHOWN.map((each) => (
          <Button key={each} aria-pressed={show === each} onClick={() => choose(each)}>
            {WORDS[each]} <b>{kinds ? said(kinds, each) : UNKNOWN}</b>
          </Button>
        ))}
      </div>
      {segment ? (
        <Filtered
          words={`filtered, ${shown === undefined ? UNKNOWN : count(shown)} of ${counted(all, "task")}`}
          clear={clear}
        >
          <span>{segment.replace(":", " ")}</span>
        </Filtered>
      ) : (
        show !== "all" && (
          <p className="muted data" role="status">
            filtered, {count(found)} of {counted(all, "task")}
          </p>
        )
      )}
      {asked.error ? (
        <Failed error={asked.error} />
      ) : rows === undefined ? (
        <Loading what="tasks" />
      ) : rows.length === 0 ? (
        <Empty>{`No task${segment ? " of this segment" : ""} is among ${WORDS[show].toLowerCase()}.`}</Empty>
      ) : (
        <TaskRows key={[...references, show, segment].join()} pair={pair} rows={rows} total={found} onEnd={more} />
      )}
    </section>
  );
}

function said(kinds: Pair["kinds"], shown: Shown): string {
  const { better = 0, worse = 0 } = kinds;
  return shown === "flips" ? `+${count(better)} / −${count(worse)}` : count(countOf(kinds, shown));
}
