import type { SpendBy } from "../../api/schema";
import { OWNERS, type Owner } from "../../design/outcomes";
import { chosen, day, text, whole } from "../../search";

/** What spend may be told apart by, and over how long. */
export const APART: readonly SpendBy[] = ["run_set", "profile", "provider", "model", "kind", "user"];
/** What those may choose beside it who administer the installation. */
export const OF_ALL: SpendBy = "tenant";
export const DAYS = [1, 7, 30, 90] as const;

/** What the address of the page says: the same address is the same view. */
export interface CostsSearch {
  by?: SpendBy;
  days?: number;
  /** Only entries of this day of UTC. */
  day?: string;
  /** Only entries of this run set, profile, …: whatever spend is told apart by. Empty: of none. */
  key?: string;
  /** Only entries of attempts that ended without a verdict by its fault. */
  owner?: Owner;
  /** Only entries of this model whose cost nobody knows. */
  unpriced?: string;
  cursor?: string;
}

export function costsSearch(search: Record<string, unknown>): CostsSearch {
  return {
    by: chosen<SpendBy>(search.by, [...APART, OF_ALL]),
    days: DAYS.find((one) => one === whole(search.days)),
    day: day(search.day),
    key: search.key === "" ? "" : text(search.key),
    owner: chosen<Owner>(search.owner, OWNERS),
    unpriced: search.unpriced === "" ? "" : text(search.unpriced),
    cursor: text(search.cursor),
  };
}

/** Whether entries are narrowed. */
export function isNarrowed({ day, key, owner, unpriced }: CostsSearch): boolean {
  return day !== undefined || key !== undefined || owner !== undefined || unpriced !== undefined;
}
