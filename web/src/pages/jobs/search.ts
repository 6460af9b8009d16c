import type { JobState } from "../../api/schema";
import { chosen, text } from "../../search";

export const STATES: readonly JobState[] = [
  "queued",
  "running",
  "paused",
  "complete",
  "complete_with_gaps",
  "cancelled",
];
export const BY = ["tag", "difficulty", "source"] as const;

export function jobsSearch(search: Record<string, unknown>): { state?: JobState; cursor?: string } {
  return { state: chosen(search.state, STATES), cursor: text(search.cursor) };
}

export function jobSearch(search: Record<string, unknown>): {
  status?: string;
  by?: (typeof BY)[number];
  cursor?: string;
} {
  return { status: text(search.status), by: chosen(search.by, BY), cursor: text(search.cursor) };
}
