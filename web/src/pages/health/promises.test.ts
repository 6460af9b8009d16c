import { expect, test } from "vitest";
import type { BackupsReport, Burn, ObjectiveReport } from "../../api/schema";
import { age, backupWords, burning, burnWords, exact, times, unaudited } from "./promises";

const BURN: Burn = {
  since: "2026-12-01T00:00:00Z",
  until: "2026-12-01T01:00:00Z",
  sampled_sec: 3600,
  attempts: 1000,
  lost: 3,
  rate: 0.3,
};
const report = (burn: Partial<Burn>, alert: ObjectiveReport["alert"] = null): ObjectiveReport => ({
  objective: 0.99,
  burn: { ...BURN, ...burn },
  alert,
});

test("a burn rate has the digits that say something", () => {
  expect([null, 0, 0.04, 0.1, 0.3, 1, 9.96, 14.4, 100].map(times)).toEqual([
    "—",
    "0×",
    "<0.1×",
    "0.1×",
    "0.3×",
    "1×",
    "10×",
    "14×",
    "100×",
  ]);
  expect([0.99, 0.9995, 1 - 0.99].map(exact)).toEqual(["99%", "99.95%", "1%"]);
});

test("a burn rate is of so many attempts, in a time, by an objective", () => {
  expect(burnWords(report({}), "1h")).toBe(
    "3 of 1,000 attempts lost to infrastructure or unclassified in the last hour · objective 99% not lost",
  );
  expect(burnWords(report({ sampled_sec: 1260 }), "1h")).toContain("in the last hour, of which 21m 00s were sampled");
  expect(burnWords(report({ attempts: 0, lost: 0, rate: null }), "1h")).toBe(
    "no attempt is known to have ended in the last hour · objective 99% not lost",
  );
});

test("what burns too fast is told by its window, so that a faster burn is another need", () => {
  const burn = { ...BURN, attempts: 100, lost: 20, rate: 20 };
  const alert = { window: "1h", short_window: "10m", threshold: 14.4, burn, short_burn: burn };
  expect(burning(report({}))).toEqual([]);
  expect(burning(report({}, alert)).map((one) => [one.key, one.what])).toEqual([
    [
      "slo.burn.1h",
      "SLO burn 20× in the last hour: 20 of 100 attempts lost to infrastructure or unclassified, 1% is allowed",
    ],
  ]);
  const slow = burning(report({}, { ...alert, window: "3d" }))[0];
  expect([slow?.key, slow?.to]).toEqual(["slo.burn.3d", "/health?range=7d"]);
});

const HOUR = 3600;
const backup = (digest: string, hours: number) => ({
  digest,
  made_at: "2026-12-01T00:00:00Z",
  bytes: 7,
  host: "store-1",
  folder: "/backups/a b",
  verified_at: null,
  age_sec: hours * HOUR,
});
const NONE: BackupsReport = {
  elsewhere: null,
  own_database: false,
  recorded: 0,
  newest: null,
  newest_verified: null,
  unaudited_sec: 5 * HOUR,
  limit_sec: 26 * HOUR,
  is_overdue: false,
};
const late = (told: Partial<BackupsReport>) =>
  unaudited({ ...NONE, unaudited_sec: 31.5 * HOUR, is_overdue: true, ...told });

test("a backup that is missed is told with the command for it", () => {
  expect(unaudited(NONE)).toEqual([]);
  const told = (one: ReturnType<typeof late>) => one.map(({ key, what, command }) => [key, what, command]);
  expect(told(late({}))).toEqual([
    ["backup.unaudited", "no backup was made since this installation began, 31 h ago", "proctor backup create FOLDER"],
  ]);
  const old = backup("a", 31.5);
  expect(told(late({ newest: old, newest_verified: old }))).toEqual([
    [
      "backup.unaudited",
      "backup unaudited for 31 h: none was made since the last verified one",
      "proctor backup create FOLDER",
    ],
  ]);
  expect(told(late({ newest: backup("b", 2), newest_verified: old }))).toEqual([
    [
      "backup.unaudited",
      "backup unaudited for 31 h: the newest, made 2 h ago on store-1, is not verified",
      "proctor backup verify '/backups/a b'",
    ],
  ]);
  expect(told(late({ own_database: true }))[0]?.[2]).toBe("PROCTOR_BACKUPS_ELSEWHERE=…");
});

test("backups in a few words, and what is not known is no number", () => {
  expect(backupWords(NONE)).toBe("— none was made yet");
  expect(backupWords({ ...NONE, own_database: true })).toBe("— nobody said who takes them");
  expect(backupWords({ ...NONE, elsewhere: "pgBackRest" })).toBe("elsewhere: pgBackRest");
  const one = backup("a", 3);
  expect(backupWords({ ...NONE, newest: one })).toBe("3 h old, not verified");
  expect(backupWords({ ...NONE, newest: one, newest_verified: one })).toBe("verified, 3 h old");
  expect(backupWords({ ...NONE, newest: one, newest_verified: backup("b", 100) })).toBe(
    "3 h old, not verified; the last verified one is 4 days old",
  );
  expect([0, 59 * 60, HOUR, 71 * HOUR, 72 * HOUR].map(age)).toEqual(["0 min", "59 min", "1 h", "71 h", "3 days"]);
});
