import type { Range } from "../../api/schema";
import { chosen } from "../../search";

/** How far back the charts go. */
export const RANGES: readonly Range[] = ["1h", "24h", "7d"];
export const RANGE_WORDS: Record<Range, string> = { "1h": "1 hour", "24h": "24 hours", "7d": "7 days" };

export function healthSearch(search: Record<string, unknown>): { range?: Range } {
  return { range: chosen<Range>(search.range, RANGES) };
}
