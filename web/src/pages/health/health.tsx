import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { backups, COUNTED_MS, errorLines, metrics, providers } from "../../api/administration";
import { useMay, whoMay } from "../../api/permitted";
import { runSet, runSets } from "../../api/queries";
import type { LogLine, ProviderLine, RunSetRow } from "../../api/schema";
import { bytes, count, counted, percent, UNKNOWN } from "../../design/numbers";
import { ownerOf, ownerWords, words } from "../../design/outcomes";
import { Blocked } from "../../parts/blocked";
import { Facts } from "../../parts/facts";
import { Chip } from "../../parts/glyph";
import { Section, Settling } from "../../parts/section";
import { Failed, Loading } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { Time } from "../../parts/time";
import { useTitle } from "../../parts/title";
import styles from "./health.module.css";
import { History } from "./history";
import { type Sample, samplesOf, sum } from "./prometheus";
import { backupWords } from "./promises";
import { WhatNeedsYou } from "./what-needs-you";

/** What needs somebody, first; then how the installation is. Green is silence. */
export function HealthPage() {
  useTitle("Health");
  const isAdministrator = useMay("platform");
  const told = useQuery({ ...metrics, enabled: isAdministrator });
  const samples = useMemo(() => samplesOf(told.data ?? ""), [told.data]);
  return (
    <Settling>
      <h1>Health</h1>
      <WhatNeedsYou samples={samples} isPending={isAdministrator && told.isPending} />
      {isAdministrator && <History ended={sum(samples, "proctor_attempts_recent")} />}
      <RunningSets />
      {!isAdministrator ? (
        <Section title="Installation">
          <p className="muted">
            The installation's figures are for {whoMay("platform")}: whoever has set up the server, or was made one.
          </p>
        </Section>
      ) : told.error ? (
        <Failed error={told.error} retry={() => told.refetch()} />
      ) : told.data === undefined ? (
        <Loading what="figures of the installation" />
      ) : (
        <Installation samples={samples} />
      )}
      <Providers />
      <Errors />
    </Settling>
  );
}

function RunningSets() {
  const asked = useQuery({ ...runSets({ state: "running" }), refetchInterval: COUNTED_MS });
  if (asked.error) return <Failed error={asked.error} />;
  const rows = asked.data?.items ?? [];
  return (
    <Section title={rows.length === 0 ? "No run set runs" : `${counted(rows.length, "run set")} running`}>
      {rows.map((row) => (
        <Running key={row.id} row={row} />
      ))}
    </Section>
  );
}

function Running({ row }: { row: RunSetRow }) {
  const asked = useQuery({ ...runSet(row.id), refetchInterval: COUNTED_MS });
  const progress = asked.data?.progress;
  return (
    <div className={styles.running}>
      <Link to="/run-sets/$runSet" params={{ runSet: row.id }}>
        {row.name}
      </Link>{" "}
      {progress && (
        <span className="data muted">
          {count(progress.decided)} of {counted(progress.expected, "cell")} decided · {count(progress.running)} running
          · {count(progress.queued)} queued
        </span>
      )}
      {progress && <Blocked waits={progress.waits} />}
    </div>
  );
}

function Installation({ samples }: { samples: readonly Sample[] }) {
  const value = (name: string, labels?: Record<string, string>) => sum(samples, name, labels);
  /** Of the queue: a state that is not told of has none. */
  const rows = (state: string) => count(value("proctor_queue_rows", { state }) ?? 0);
  const kept = useQuery(backups);
  const facts: [string, string][] = [
    ["Ready", rows("pending")],
    ["Waiting", rows("waiting")],
    ["Running", rows("claimed")],
    ["Paused", rows("paused")],
    ["Given up", rows("dead")],
    ["Leaked sandboxes", number(value("proctor_leaked_sandboxes"))],
    ["Infrastructure's share", shareWords(value("proctor_infrastructure_share"), value("proctor_attempts_recent"))],
    ["Lost leases", number(value("proctor_lease_losses_recent"))],
    ["Database", bytes(value("proctor_storage_bytes", { where: "database" }))],
    ["Objects", bytes(value("proctor_storage_bytes", { where: "objects" }))],
    ["Backup", kept.data ? backupWords(kept.data) : UNKNOWN],
  ];
  const recent = samples
    .filter((one) => one.name === "proctor_attempts_recent" && one.value > 0)
    .sort((a, b) => b.value - a.value);
  return (
    <Section title="Installation">
      <Facts facts={facts} />
      {recent.length > 0 && (
        <>
          <h3>Attempts lately</h3>
          <ul className={styles.recent}>
            {recent.map((one) => {
              const name = one.labels.class ?? "";
              return (
                <li key={name} title={`${ownerWords(ownerOf(name))}`}>
                  <Chip name={name}>
                    <b>{count(one.value)}</b>
                  </Chip>
                </li>
              );
            })}
          </ul>
        </>
      )}
    </Section>
  );
}

function shareWords(share: number | null, attempts: number | null): string {
  return share === null ? UNKNOWN : `${percent(share)} of ${counted(attempts ?? 0, "attempt")}`;
}

function number(value: number | null): string {
  return value === null ? UNKNOWN : count(value);
}

const PROVIDERS: readonly Column<ProviderLine>[] = [
  { name: "Provider", cell: (one) => one.name },
  { name: "Reached", cell: (one) => one.reached },
  { name: "At", cell: (one) => <code>{one.address}</code> },
  {
    name: "Keys set",
    cell: (one) => (one.keys.length === 0 ? "none needed" : `${one.keys_set.length} of ${one.keys.length}`),
  },
  { name: "Requests/min", kind: "number", cell: (one) => number(one.requests_per_minute ?? null) },
  { name: "Tokens/min", kind: "number", cell: (one) => number(one.tokens_per_minute ?? null) },
];

function Providers() {
  const asked = useQuery(providers);
  if (asked.error || !asked.data?.items.length) return null;
  return (
    <Section title="Providers">
      <Table caption="Providers" columns={PROVIDERS} rows={asked.data.items} keyOf={(one) => one.name} />
    </Section>
  );
}

const LINES: readonly Column<LogLine>[] = [
  { name: "When", cell: (one) => <Time at={one.at} /> },
  { name: "What", cell: (one) => words(one.event) },
  { name: "Detail", cell: (one) => <code title={JSON.stringify(one.fields)}>{JSON.stringify(one.fields)}</code> },
  { name: "Trace", cell: (one) => <code>{one.trace_id?.slice(0, 12)}</code> },
];

function Errors() {
  const asked = useQuery({ ...errorLines, enabled: useMay("logs:read") });
  if (asked.error || !asked.data?.items.length) return null;
  return (
    <Section title="Errors in the log">
      <Table caption="Errors, the newest first" columns={LINES} rows={asked.data.items} keyOf={(one) => one.id} />
    </Section>
  );
}
