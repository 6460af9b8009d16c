import { useState } from "react";
import { clock, duration } from "../../design/numbers";
import { words } from "../../design/outcomes";
import { usePreferences } from "../../design/preferences";
import { useNow } from "../../parts/time";
import { type Attempt, type EvidenceRow, secondsBetween } from "./documents";
import styles from "./phases.module.css";

/** Where each phase of an attempt began and ended, to scale; a click shows its evidence. */
export function Phases({ attempt, open }: { attempt: Attempt; open: (phase: EvidenceRow) => void }) {
  const { zone } = usePreferences();
  const [pointed, setPointed] = useState<EvidenceRow | null>(null);
  const { evidence } = attempt;
  const { started_at, ended_at, phase } = attempt.attempt;
  const now = useNow(ended_at ? null : 1000);
  const total = ended_at ? secondsBetween(started_at, ended_at) : (now.getTime() - Date.parse(started_at)) / 1000;
  const running = ended_at ? null : (now.getTime() - Date.parse(evidence.at(-1)?.ended_at ?? started_at)) / 1000;
  if (evidence.length === 0 && ended_at) return null;
  return (
    <section className={styles.phases} aria-label="Phases">
      <ol className={styles.bar}>
        {evidence.map((one) => {
          const seconds = secondsBetween(one.started_at, one.ended_at) ?? 0;
          return (
            <li key={one.seq} style={{ flexGrow: weight(seconds) }}>
              <button
                type="button"
                data-phase={one.phase}
                data-failed={one.detail.failed ? "" : undefined}
                onClick={() => open(one)}
                onMouseEnter={() => setPointed(one)}
                onMouseLeave={() => setPointed(null)}
                onFocus={() => setPointed(one)}
                onBlur={() => setPointed(null)}
                aria-label={`${words(one.phase)}, ${duration(seconds)}${one.detail.failed ? ", failed" : ""}`}
              >
                {words(one.phase)}
              </button>
            </li>
          );
        })}
        {running !== null && (
          <li style={{ flexGrow: weight(running) }}>
            <span className={styles.now}>{words(phase || "starting")}</span>
          </li>
        )}
      </ol>
      <p className={styles.told} aria-live="off">
        {pointed ? (
          <>
            <b>{words(pointed.phase)}</b> {clock(new Date(pointed.started_at), zone)}–
            {clock(new Date(pointed.ended_at), zone)} · {duration(secondsBetween(pointed.started_at, pointed.ended_at))}
            {typeof pointed.detail.step === "string" && ` · step ${pointed.detail.step}`}
          </>
        ) : (
          <>
            {clock(new Date(started_at), zone)}
            {ended_at ? `–${clock(new Date(ended_at), zone)}` : ", still running"} · {duration(total)}
          </>
        )}
      </p>
    </section>
  );
}

/** In milliseconds: weights that sum to less than one leave room. */
function weight(seconds: number): number {
  return Math.max(1, Math.round(seconds * 1000));
}
