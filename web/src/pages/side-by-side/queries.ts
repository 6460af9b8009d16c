/** What the page of two attempts asks: the cells of a task on each side, and their steps until they part. */
import { queryOptions } from "@tanstack/react-query";
import { answered, api } from "../../api/client";
import { exactly } from "../../api/patterns";
import type { CellRow, StepDocument } from "../../api/schema";
import { partingOf } from "./parting";

const PAGE = 100;
/** Steps that are looked at for where they part. */
const MOST = 2000;

/** A profile of a run set. */
export interface SideName {
  runSet: string;
  profile: string;
}

/** `RUN_SET:PROFILE` of an address. */
export function sideOf(said: string): SideName {
  const [runSet = "", ...profile] = said.split(":");
  return { runSet, profile: profile.join(":") };
}

export const trialsOf = ({ runSet, profile }: SideName, task: string) =>
  queryOptions({
    queryKey: ["run-set", runSet, "cells", profile, task],
    queryFn: async ({ signal }) => {
      const query = { profile, task: exactly(task), limit: 200 };
      const path = { run_set: runSet };
      const { items } = await answered(
        api.GET("/api/v1/run-sets/{run_set}/cells", { params: { path, query }, signal }),
      );
      return (items as CellRow[]).filter((one) => one.withdrawn === null).sort((one, other) => one.trial - other.trial);
    },
    enabled: profile !== "" && task !== "",
  });

export interface Parting {
  one: readonly StepDocument[];
  other: readonly StepDocument[];
  /** `null`: they are the same as far as both go, or as far as was looked. */
  at: number | null;
  isWhole: boolean;
}

/** Both attempts' steps, page by page until they part, and the page after it. */
export const parting = (one: string, other: string) =>
  queryOptions({
    queryKey: ["parting", one, other],
    queryFn: async ({ signal }): Promise<Parting> => {
      const sides: [StepDocument[], StepDocument[]] = [[], []];
      for (let first = 1; first <= MOST; first += PAGE) {
        const pages = await Promise.all([one, other].map((attempt) => page(attempt, first, signal)));
        for (const at of [0, 1] as const) sides[at].push(...(pages[at] ?? []));
        const at = partingOf(...sides);
        const isWhole = pages.some((items) => items.length < PAGE);
        if (at !== null || isWhole) return { one: sides[0], other: sides[1], at, isWhole };
      }
      return { one: sides[0], other: sides[1], at: null, isWhole: false };
    },
  });

async function page(attempt: string, first: number, signal: AbortSignal): Promise<StepDocument[]> {
  const path = { attempt };
  const found: StepDocument[] = [];
  while (found.length < PAGE) {
    const query = { first: first + found.length, limit: PAGE - found.length };
    const { items } = await answered(api.GET("/api/v1/attempts/{attempt}/steps", { params: { path, query }, signal }));
    if (items.length === 0) break; // the end; a page of large steps is shorter than what was asked for
    found.push(...items);
  }
  return found;
}
