/** What is read off an attempt as the API tells it. */
import type { AttemptDocument, AttemptRow, EvidenceRow, KeptArtifact, OutcomeRow } from "../../api/schema";

export type Attempt = AttemptDocument;
export type Artifact = KeptArtifact;
export type Detail = Record<string, unknown>;
export type { EvidenceRow, OutcomeRow };

/** The outcome that counts: of the last grading by a policy; `undefined` while it runs. */
export function outcomeOf({ outcomes }: Attempt, policy: string | undefined): OutcomeRow | undefined {
  const own = outcomes.filter((one) => one.policy_version === policy);
  return (own.length ? own : outcomes).reduce<OutcomeRow | undefined>(
    (last, one) => (last === undefined || one.grading >= last.grading ? one : last),
    undefined,
  );
}

/** The phase that decided what an attempt came to: the one that ended it, else the last that says anything. */
export function decidingPhase({ evidence }: Attempt): EvidenceRow | undefined {
  const failed = evidence.filter((one) => one.detail.failed);
  const graded = evidence.filter((one) => one.phase === "verify");
  return failed.at(-1) ?? graded.at(-1) ?? evidence.at(-1);
}

/** What is said until the server's reason is there: never empty. */
export function meanwhile({ attempt: { ended_at, phase } }: Attempt, outcome: OutcomeRow | undefined): string {
  if (outcome !== undefined) return `${outcome.class.replaceAll("_", " ")} by rule ${outcome.rule}`;
  return ended_at ? "no outcome by this run set's policy" : `running${phase && `: ${phase}`}`;
}

/** Tokens that went in and came out; `null`: not known. */
export function tokensOf({ usage }: AttemptRow): number | null {
  const names = ["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"] as const;
  const known = names.map((name) => usage?.[name]).filter((one): one is number => typeof one === "number");
  return known.length ? known.reduce((sum, one) => sum + one, 0) : null;
}

export function secondsBetween(from: string, to: string | null): number | null {
  return to === null ? null : (Date.parse(to) - Date.parse(from)) / 1000;
}
