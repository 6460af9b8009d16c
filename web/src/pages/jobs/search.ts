import type { JobState } from "../../api/schema";
import { chosen, number, text } from "../../search";

export const STATES: readonly JobState[] = [
  "queued",
  "running",
  "paused",
  "complete",
  "complete_with_gaps",
  "cancelled",
  "deleted",
];
/** Between two looks at a job while events say that it changes. */
export const LIVE_MS = 1000;
export const BY = ["tag", "difficulty", "source"] as const;

export function jobsSearch(search: Record<string, unknown>): { state?: JobState; q?: string; cursor?: string } {
  return { state: chosen(search.state, STATES), q: text(search.q), cursor: text(search.cursor) };
}

/** What the address of a job's page says: which results, and by what they are apart. */
export interface JobSearch {
  status?: string;
  evaluator?: string;
  /** Scores from here on, and under this. */
  at_least?: number;
  below?: number;
  by?: (typeof BY)[number];
  cursor?: string;
}

export function jobSearch(search: Record<string, unknown>): JobSearch {
  return {
    status: text(search.status),
    evaluator: text(search.evaluator),
    at_least: number(search.at_least),
    below: number(search.below),
    by: chosen(search.by, BY),
    cursor: text(search.cursor),
  };
}

/** The part of it that is a filter. */
export function filterOf({ status, evaluator, at_least, below }: JobSearch) {
  return { status, evaluator, at_least, below };
}
