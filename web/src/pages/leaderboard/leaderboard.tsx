import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useLive } from "../../api/live-context";
import type { BoardRow, SuiteBoard } from "../../api/schema";
import { suiteBoard, suites } from "../../api/suites";
import { counted } from "../../design/numbers";
import { Asked } from "../../parts/asked";
import { Button } from "../../parts/button";
import { Select } from "../../parts/field";
import { PageHead } from "../../parts/section";
import { Empty, STARTS_ONE } from "../../parts/states";
import { useTitle } from "../../parts/title";
import { stepKeys, useKeys } from "../../shell/keys";
import styles from "./leaderboard.module.css";
import { Apart, Reasons, Row, shared, sideOf } from "./row";

const route = getRouteApi("/leaderboard");

/** Who is better than whom on a suite, as far as the data say. */
export function LeaderboardPage() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/leaderboard" });
  const known = useQuery(suites);
  const suite = search.suite ?? known.data?.items[0]?.suite_id;
  const all = known.data?.items ?? [];
  const nameOf = (one: (typeof all)[number]) => one.aliases[0] ?? one.suite_id.slice(0, 12);
  const shown = all.find((one) => one.suite_id === suite || one.aliases.includes(suite ?? ""));
  useTitle("Leaderboard", shown ? nameOf(shown) : suite?.slice(0, 12));
  const options = all.map((one) => ({
    value: one.suite_id,
    label: `${nameOf(one)} · ${counted(one.task_count, "task")}`,
  }));
  return (
    <>
      <PageHead
        title="Leaderboard"
        tools={
          options.length > 0 && (
            <Select
              label="Suite"
              value={shown?.suite_id ?? suite ?? ""}
              options={options}
              onChange={(event) => navigate({ search: { suite: event.target.value } })}
            />
          )
        }
      />
      {suite ? (
        <Board suite={suite} />
      ) : (
        <Asked query={known} what="suites">
          {() => (
            <Empty command={{ needs: "suites:write", words: "This brings one:", text: "proctor suite import FOLDER" }}>
              There is no suite yet.
            </Empty>
          )}
        </Asked>
      )}
    </>
  );
}

function Board({ suite }: { suite: string }) {
  const client = useQueryClient();
  const asked = useQuery(suiteBoard(suite));
  const [fresh, setFresh] = useState(0);
  useLive("all", undefined, {
    event: ({ name }) => name.startsWith("run_set.complete") && setFresh((before) => before + 1),
    gap: () => setFresh((before) => before + 1),
  });
  const show = () => {
    setFresh(0);
    void client.invalidateQueries({ queryKey: ["suites", suite] });
  };
  return (
    <>
      {fresh > 0 && (
        <p className={styles.banner} role="status">
          {counted(fresh, "new result")} <Button onClick={show}>show</Button>
        </p>
      )}
      <Asked query={asked} what="the leaderboard">
        {(board) =>
          board.ranked.length + board.others.length === 0 ? (
            <Empty command={STARTS_ONE}>No run set has run this suite.</Empty>
          ) : (
            <Rows board={board} />
          )
        }
      </Asked>
    </>
  );
}

function Rows({ board }: { board: SuiteBoard }) {
  const { pin = [] } = route.useSearch();
  const navigate = useNavigate({ from: "/leaderboard" });
  const all = [...board.ranked, ...board.others];
  const [at, setAt] = useState(0);
  const current = all[at];
  const toggle = (row: BoardRow | undefined) => {
    if (row === undefined) return;
    const name = sideOf(row);
    const next = pin.includes(name) ? pin.filter((one) => one !== name) : [...pin, name];
    void navigate({ search: (before) => ({ ...before, pin: next.length ? next : undefined }), replace: true });
  };
  const pinned = pin.filter((name) => all.some((one) => sideOf(one) === name));
  const compare = () => {
    const [base, ...others] = pinned;
    if (base && others.length) void navigate({ to: "/compare", search: { base, with: others } });
  };
  const openRow = () => {
    if (current) void navigate({ to: "/run-sets/$runSet", params: { runSet: current.run_set.id } });
  };
  useKeys([
    ...stepKeys("row", (by) => setAt(Math.min(all.length - 1, Math.max(0, at + by)))),
    { keys: " ", what: "Pin the row", run: () => toggle(current) },
    { keys: "c", what: "Compare what is pinned", run: compare },
    { keys: "Enter", what: "Open the row's run set", run: openRow },
  ]);
  const said = shared(board.others);
  const row = (one: BoardRow, note: React.ReactNode) => (
    <Row
      key={sideOf(one)}
      one={one}
      isCurrent={one === current}
      pinned={pin.includes(sideOf(one))}
      toggle={() => toggle(one)}
    >
      {note}
    </Row>
  );
  return (
    <>
      <p className={styles.tools}>
        <span className="muted">
          {pinned.length ? `${pinned.length} pinned` : "Pin rows to compare them"} · the newest row of each profile in
          each configuration, of {counted(board.run_sets, "run set")}
        </span>
        <Button kind="primary" disabled={pinned.length < 2} onClick={compare}>
          Compare pinned
        </Button>
      </p>
      <ol className={styles.rows} aria-label="Ranked">
        {board.ranked.map((one, place) => row(one, <Apart board={board} place={place} />))}
      </ol>
      {board.ranked.length === 0 && (
        <p className="muted">Nothing is ranked: no row may stand beside others. Each says why below.</p>
      )}
      {board.others.length > 0 && (
        <section aria-labelledby="others">
          <h2 id="others" className={styles.divider}>
            Not comparable ({board.others.length})
          </h2>
          {said.length > 0 && <p className={styles.reasons}>all of them: {said.join("; ")}</p>}
          <ul className={styles.rows}>{board.others.map((one) => row(one, <Reasons one={one} said={said} />))}</ul>
        </section>
      )}
      <p className="muted data">● strict with its 95 % interval · ○ graded, where it differs · ▒ bounds</p>
    </>
  );
}
