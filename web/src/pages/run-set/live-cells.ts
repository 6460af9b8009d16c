/** The cells of a run set as they are now: fetched once, then changed by the events of its socket. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { LiveEvent } from "../../api/live";
import { useLive } from "../../api/live-context";
import { matrix } from "../../api/queries";
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
  const figures = useThrottled(
    useCallback(() => {
      setVersion((before) => before + 1);
      void client.invalidateQueries({
        predicate: ({ queryKey }) => queryKey[0] === "run-set" && queryKey[1] === runSet && queryKey[2] !== "matrix",
      });
    }, [client, runSet]),
    FIGURES_MS,
  );
  const event = (happened: LiveEvent) => {
    const index = cells ? change(cells, happened) : -1;
    if (index >= 0) handle.current?.changed([index]);
    figures();
  };
  useLive(`run-set:${asked.data?.run_set.id ?? runSet}`, asked.data ? asked.data.event : null, {
    event,
    gap: () => void client.invalidateQueries({ queryKey: ["run-set", runSet] }),
  });
  return { asked, cells, version };
}

/** What an event makes of a cell; which one, or -1. */
export function change(cells: Cells, { name, subject, payload }: LiveEvent): number {
  const index = typeof payload.cell === "string" ? cells.placeOf(payload.cell) : -1;
  if (index < 0) return -1;
  if (name === "attempt.started") {
    const number = Number(payload.number);
    cells.change(index, { state: "running", attempt: subject, attempts: Number.isFinite(number) ? number : undefined });
  } else if (name === "attempt.ended" || name === "attempt.regraded") {
    cells.change(index, {
      state: String(payload.class),
      decided: typeof payload.verdict === "boolean",
      attempt: subject,
    });
  }
  return index;
}

/** At once, and then at most every so many milliseconds, the last time for sure. */
function useThrottled(work: () => void, every: number): () => void {
  const state = useRef({ last: 0, timer: undefined as ReturnType<typeof setTimeout> | undefined });
  useEffect(() => () => clearTimeout(state.current.timer), []);
  return useCallback(() => {
    const now = Date.now();
    const { last, timer } = state.current;
    if (timer !== undefined) return;
    const run = () => {
      state.current = { last: Date.now(), timer: undefined };
      work();
    };
    if (now - last >= every) run();
    else state.current.timer = setTimeout(run, every - (now - last));
  }, [work, every]);
}
