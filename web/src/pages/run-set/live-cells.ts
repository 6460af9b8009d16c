/**
 * The cells of a run set as they are now: fetched once, then changed by the events of its socket. Their ids, which are
 * most of the bytes, come when a cell is looked at or changes; events that are there sooner wait for them.
 */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { LiveEvent } from "../../api/live";
import { useLive } from "../../api/live-context";
import { matrix, matrixIds, runSet as runSetQuery } from "../../api/queries";
import { useThrottled } from "../../api/throttle";
import type { Cells } from "./matrix/cells";
import { cellsOf } from "./matrix/document";
import type { MatrixHandle } from "./matrix/matrix";

/** Between two questions for figures while events come. */
const FIGURES_MS = 2000;

export function useLiveCells(runSet: string, handle: React.RefObject<MatrixHandle | null>) {
  const client = useQueryClient();
  const asked = useQuery(matrix(runSet));
  const cells = useMemo(() => (asked.data ? cellsOf(asked.data) : null), [asked.data]);
  const [version, setVersion] = useState(0);
  const [isNeeded, setNeeded] = useState(false);
  const need = useCallback(() => setNeeded(true), []);
  const ids = useQuery({ ...matrixIds(runSet), enabled: isNeeded });
  const early = useRef<LiveEvent[]>([]);
  useEffect(() => {
    if (!cells || !ids.data || ids.isFetching || cells.isNamed) return; // ids that are asked for anew are old ones
    cells.name(ids.data);
    const changed = early.current.map((happened) => change(cells, happened)).filter((index) => index >= 0);
    early.current = [];
    handle.current?.changed(changed);
    setVersion((before) => before + 1);
  }, [cells, ids.data, ids.isFetching, handle]);
  const figures = useThrottled(
    useCallback(() => {
      setVersion((before) => before + 1);
      return client.invalidateQueries({
        predicate: ({ queryKey }) =>
          queryKey[0] === "run-set" && queryKey[1] === runSet && !["matrix", "ids"].includes(String(queryKey[2])),
      });
    }, [client, runSet]),
    FIGURES_MS,
  );
  const told = useRef("");
  useEffect(() => {
    told.current = asked.data?.event_at ?? "";
  }, [asked.data]);
  const status = useQuery(runSetQuery(runSet));
  // biome-ignore lint/correctness/useExhaustiveDependencies: by what was told last
  useEffect(() => {
    if (status.data && isBefore(status.data.counted_at, told.current)) figures();
  }, [status.dataUpdatedAt, asked.data]);
  const event = (happened: LiveEvent) => {
    if (cells?.isNamed) {
      const index = change(cells, happened);
      if (index >= 0) handle.current?.changed([index]);
    } else {
      early.current.push(happened);
      need();
    }
    told.current = happened.created_at;
    figures();
  };
  const everything = () => void client.invalidateQueries({ queryKey: ["run-set", runSet] });
  useLive(`run-set:${asked.data?.run_set.id ?? runSet}`, asked.data ? asked.data.event : null, {
    event,
    gap: everything,
    poll: everything,
  });
  return { asked, cells, version, need };
}

/** Whether what was counted then can't know of what happened then: a server counts large sets only now and then. */
export function isBefore(counted: string, happened: string): boolean {
  return Date.parse(counted) < Date.parse(happened);
}

/** What an event makes of a cell; which one, or -1. */
export function change(cells: Cells, { name, subject, payload }: LiveEvent): number {
  const index = typeof payload.cell === "string" ? cells.placeOf(payload.cell) : -1;
  if (index < 0) return -1;
  if (name === "attempt.started") {
    const number = Number(payload.number);
    cells.change(index, { state: "running", attempt: subject, attempts: Number.isFinite(number) ? number : undefined });
  } else if (name === "attempt.reached" && typeof payload.phase === "string") {
    cells.reach(index, payload.phase);
  } else if (name === "attempt.ended" || name === "attempt.regraded") {
    cells.change(index, {
      state: String(payload.class),
      decided: typeof payload.verdict === "boolean",
      attempt: subject,
    });
  }
  return index;
}
