/** Owed cells that are tried again: one, or those that a filter means. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { answered, api } from "../../api/client";
import { exactly, patternOf } from "../../api/patterns";
import { useMay } from "../../api/permitted";
import type { Resuming, RunSetRow } from "../../api/schema";
import { count, counted } from "../../design/numbers";
import { CLASSES } from "../../design/outcomes";
import { useOnce } from "../../parts/form";
import type { CellFilter } from "./matrix/cells";

const TRIABLE = new Set([...CLASSES, "not_started"]);
const GOES_ON = new Set(["running", "complete_with_gaps"]);

export interface Retry {
  /** `owed`: how many cells are meant, to say of how many something came. */
  ask: (choice: Resuming, owed: number) => void;
  /** What came of it, or why nothing did; nothing before. */
  said: string;
  /** When it was asked for, in milliseconds of the Unix time. */
  at: number;
  failed: boolean;
  isPending: boolean;
}

/** How cells of a run set are tried again; `null`: they can't be, or not by whoever looks. */
export function useRetry(row: RunSetRow | undefined): Retry | null {
  const client = useQueryClient();
  const may = useMay("runs:write");
  const asked = useMutation({
    mutationFn: ({ choice }: { choice: Resuming; owed: number }) =>
      answered(
        api.POST("/api/v1/run-sets/{run_set}/resume", { params: { path: { run_set: row?.id ?? "" } }, body: choice }),
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: ["run-set", row?.id] }),
  });
  const once = useOnce(asked.mutateAsync);
  if (!may || row === undefined || !GOES_ON.has(row.state)) return null;
  return {
    ask: (choice, owed) => void once({ choice, owed }),
    said: asked.error?.message ?? (asked.data ? wordsOf(asked.data.queued, asked.variables.owed) : ""),
    at: asked.submittedAt,
    failed: asked.error !== null,
    isPending: asked.isPending,
  };
}

/** `61 of 61 cells queued`, and how many stay as they are where some do. */
export function wordsOf(queued: number, owed: number): string {
  const stay = owed - queued;
  return `${count(queued)} of ${counted(owed, "cell")} queued${stay > 0 ? `; trying again can't change ${count(stay)}` : ""}`;
}

/** What the server is asked for to try what a filter means; `null`: it means no class that can be tried again. */
export function choiceOf(filter: CellFilter): Resuming | null {
  const outcomes = filter.state?.filter((one) => TRIABLE.has(one)) ?? [];
  if (filter.decided || (filter.state !== undefined && outcomes.length === 0)) return null;
  const profiles = both(filter.profile === undefined ? undefined : [filter.profile], filter.profiles);
  if (profiles?.length === 0) return null;
  const named = filter.tasks?.filter((one) => one.toLowerCase().includes(filter.task?.toLowerCase() ?? ""));
  const tasks = named?.map(exactly) ?? (filter.task === undefined ? [] : [patternOf(filter.task)]);
  if (named?.length === 0) return null;
  return { outcomes: outcomes as Resuming["outcomes"], profiles: profiles ?? [], tasks };
}

/** What is in both lists; one that is not there holds everything. */
function both(one: readonly string[] | undefined, other: readonly string[] | undefined): string[] | undefined {
  if (one === undefined || other === undefined) return (one ?? other)?.slice();
  return one.filter((name) => other.includes(name));
}
