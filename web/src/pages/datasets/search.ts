import { chosen, several, text } from "../../search";

export const TABS = ["examples", "diff", "lineage", "jobs", "quality"] as const;
export type Tab = (typeof TABS)[number];

/** What the address of a version's page says. */
export interface DatasetSearch {
  tab?: Tab;
  tags?: string[];
  difficulty?: string;
  from?: string;
  q?: string;
  against?: string;
  cursor?: string;
  example?: string;
}

export function datasetSearch(search: Record<string, unknown>): DatasetSearch {
  return {
    tab: chosen(search.tab, TABS),
    tags: several(search.tags),
    difficulty: text(search.difficulty),
    from: text(search.from),
    q: text(search.q),
    against: text(search.against),
    cursor: text(search.cursor),
    example: text(search.example),
  };
}
