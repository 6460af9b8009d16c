import type { Apart } from "../../api/schema";

/** What spend may be told apart by, and over how long. */
export const APART: readonly Apart[] = ["run_set", "profile", "model", "user", "tenant"];
export const DAYS = [1, 7, 30, 90] as const;
