/** What the installation promises of itself, in words: how few attempts it fails, and that its backups are proven. */
import type { BackupsReport, Burn, BurnAlert, ObjectiveReport, Range } from "../../api/schema";
import { count, counted, duration, UNKNOWN } from "../../design/numbers";
import type { Need } from "./needs";

/** After "in the last". */
const SPANS: Record<string, string> = {
  "1h": "hour",
  "6h": "6 hours",
  "24h": "24 hours",
  "3d": "3 days",
  "7d": "7 days",
};
/** The charts' range that holds a window whole. */
const SHOWN_IN: Record<string, Range> = { "1h": "1h", "6h": "24h", "3d": "7d" };
/** Samples are a minute apart: what is missing at the edge is nothing. */
const EDGE_SEC = 120;
const HOUR = 3600;
/** From here on hours are told in days. */
const LONG_HOURS = 72;

/** `0.3×`; below a tenth it says so, and above ten a tenth says nothing. */
export function times(rate: number | null): string {
  if (rate === null) return UNKNOWN;
  if (rate > 0 && rate < 0.1) return "<0.1×";
  return `${rate >= 10 ? count(Math.round(rate)) : Number(rate.toFixed(1))}×`;
}

/** `99%`, `99.95%`: as many digits as it was set with. */
export function exact(share: number): string {
  return `${Number((share * 100).toFixed(2))}%`;
}

function lost(burn: Burn): string {
  return `${count(burn.lost)} of ${counted(burn.attempts, "attempt")} lost to infrastructure or unclassified`;
}

/** What the burn rate is of: attempts, the time, the objective. */
export function burnWords({ burn, objective }: ObjectiveReport, range: Range): string {
  const span = (Date.parse(burn.until) - Date.parse(burn.since)) / 1000;
  const seen = span - burn.sampled_sec > EDGE_SEC ? `, of which ${duration(burn.sampled_sec)} were sampled` : "";
  const within = `in the last ${SPANS[range]}${seen}`;
  const what = burn.rate === null ? `no attempt is known to have ended ${within}` : `${lost(burn)} ${within}`;
  return `${what} · objective ${exact(objective)} not lost`;
}

/** Its key is its window's: who has seen a slow burn is told of a fast one. */
export function burning({ alert, objective }: ObjectiveReport): Need[] {
  return alert === null ? [] : [burningIn(alert, objective)];
}

function burningIn({ window, burn }: BurnAlert, objective: number): Need {
  return {
    key: `slo.burn.${window}`,
    what: `SLO burn ${times(burn.rate)} in the last ${SPANS[window] ?? window}: ${lost(burn)}, ${exact(1 - objective)} is allowed`,
    to: `/health?range=${SHOWN_IN[window] ?? "7d"}`,
    show: "when it was",
  };
}

/** `31 h`, `5 days`. */
export function age(seconds: number): string {
  const hours = Math.floor(seconds / HOUR);
  if (hours >= LONG_HOURS) return `${count(Math.floor(hours / 24))} days`;
  return hours >= 1 ? `${hours} h` : `${Math.floor(seconds / 60)} min`;
}

/** The newest backup and the newest that was proven, in a few words. */
export function backupWords({
  elsewhere,
  newest,
  newest_verified: verified,
  own_database: own,
}: BackupsReport): string {
  if (elsewhere !== null) return `elsewhere: ${elsewhere}`;
  if (newest === null) return `${UNKNOWN} ${own ? "nobody said who takes them" : "none was made yet"}`;
  if (verified === null) return `${age(newest.age_sec)} old, not verified`;
  if (verified.digest === newest.digest) return `verified, ${age(verified.age_sec)} old`;
  return `${age(newest.age_sec)} old, not verified; the last verified one is ${age(verified.age_sec)} old`;
}

/** A backup that is missed, with the command for it: no server reaches the folder. */
export function unaudited(told: BackupsReport): Need[] {
  if (!told.is_overdue || told.unaudited_sec === null) return [];
  const key = "backup.unaudited";
  const since = age(told.unaudited_sec);
  const { newest, newest_verified: verified } = told;
  if (told.own_database) {
    return [
      {
        key,
        what: `no backup is known in ${since}, and the database is your own PostgreSQL: say who takes them`,
        command: "PROCTOR_BACKUPS_ELSEWHERE=…",
      },
    ];
  }
  if (newest === null) {
    const what = `no backup was made since this installation began, ${since} ago`;
    return [{ key, what, command: "proctor backup create FOLDER" }];
  }
  const head = `backup unaudited for ${since}`;
  if (verified?.digest === newest.digest) {
    return [
      { key, what: `${head}: none was made since the last verified one`, command: "proctor backup create FOLDER" },
    ];
  }
  const made = `the newest, made ${age(newest.age_sec)} ago on ${newest.host}, is not verified`;
  return [{ key, what: `${head}: ${made}`, command: `proctor backup verify ${quoted(newest.folder)}` }];
}

/** As a shell takes it for one word. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}
