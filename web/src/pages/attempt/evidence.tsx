import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { download } from "../../api/files";
import { bytes, score, UNKNOWN } from "../../design/numbers";
import { words } from "../../design/outcomes";
import { Chip } from "../../parts/glyph";
import { Time } from "../../parts/time";
import { type Artifact, type Attempt, type Detail, decidingPhase, type OutcomeRow } from "./documents";
import styles from "./evidence.module.css";
import { type Log, logOf } from "./log";
import { Lines } from "./step/output";

const SAID_LINES = 14;

/** What Proctor itself saw of the end, by which rule it counts, what the verifier said and what was kept. */
export function EvidenceColumn({ attempt, outcome }: { attempt: Attempt; outcome: OutcomeRow | undefined }) {
  const { attempt: row } = attempt;
  const phase = decidingPhase(attempt);
  const detail = phase?.detail ?? {};
  return (
    <aside className={styles.column} aria-label="Evidence">
      {phase && (
        <section>
          <h2>{words(phase.phase)}</h2>
          <p className={styles.facts}>
            exit {said(detail.exit_code)} · signal {said(detail.signal)} · oom {said(detail.oom)} · HTTP{" "}
            {said(detail.http_status)}
          </p>
          {typeof detail.message === "string" && <p className={styles.words}>{detail.message}</p>}
          {typeof detail.stderr_tail === "string" && detail.stderr_tail.trim() && <Tail text={detail.stderr_tail} />}
          {outcome && (
            <p className={styles.facts}>
              matched <code>{outcome.rule}</code> → {words(outcome.class)}
            </p>
          )}
        </section>
      )}
      <Verifier attempt={attempt} />
      {attempt.gradings.length > 0 && (
        <section>
          <h2>Gradings</h2>
          <ol>
            {attempt.gradings.map((one) => (
              <li key={`${one.verifier_digest} ${one.number}`} className={styles.facts}>
                {one.number}. {rewardsOf(one.rewards)}
                {typeof one.detail.problem === "string" && ` · ${words(one.detail.problem)}`} · {one.mode}
                {one.forgeable && " · forgeable"}
              </li>
            ))}
          </ol>
        </section>
      )}
      <section>
        <h2>Artifacts</h2>
        <Artifacts attempt={row.id} artifacts={row.artifacts} />
      </section>
      <section>
        <h2>Where</h2>
        <dl className={styles.pairs}>
          <Pair name="sandbox" value={row.backend} />
          <Pair name="image" value={attempt.evidence.find((one) => one.phase === "image")?.detail.image} />
          <Pair name="worker" value={row.worker_id} />
          <Pair name="trace" value={row.trace_id} />
          <Pair name="task" value={row.content_digest} />
          <Pair name="attempt" value={row.id} />
        </dl>
      </section>
    </aside>
  );
}

function Pair({ name, value }: { name: string; value: unknown }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <code title={String(value ?? "not known")}>{said(value)}</code>
      </dd>
    </div>
  );
}

function said(value: unknown): string {
  if (value === null || value === undefined || value === "") return UNKNOWN;
  return value === true ? "yes" : value === false ? "no" : String(value);
}

export function rewardsOf(rewards: Record<string, number> | null): string {
  const told = Object.entries(rewards ?? {}).map(([name, value]) => `${name} ${score(value)}`);
  return told.join(", ") || "no reward";
}

function Tail({ text }: { text: string }) {
  return (
    <div className={styles.said}>
      <Lines lines={text.trimEnd().split("\n").slice(-SAID_LINES)} />
    </div>
  );
}

/** The end of what the verifier printed: monospace, columns kept, never Markdown. */
function Verifier({ attempt }: { attempt: Attempt }) {
  const { id, last_segment, ended_at } = attempt.attempt;
  const asked = useQuery({ ...logOf(id, last_segment, false), enabled: last_segment > 0 && ended_at !== null });
  const lines = verifierLines(asked.data);
  if (lines.length === 0 && !asked.isLoading) return null;
  return (
    <section>
      <h2>Verifier</h2>
      <div className={styles.said} data-verifier>
        <Lines lines={asked.isLoading ? ["\u00a0"] : lines.slice(-SAID_LINES)} />
      </div>
    </section>
  );
}

function verifierLines(log: Log | undefined): string[] {
  return log?.lines.filter((line) => line.phase === "verify").map((line) => line.text) ?? [];
}

export function Artifacts({ attempt, artifacts }: { attempt: string; artifacts: readonly Artifact[] }) {
  const [problem, setProblem] = useState("");
  if (artifacts.length === 0) return <p className="muted">Nothing was kept.</p>;
  const save = (name: string) =>
    download(`/api/v1/attempts/${attempt}/artifacts/${name.split("/").map(encodeURIComponent).join("/")}`, name).catch(
      (error) => setProblem(String(error.message)),
    );
  return (
    <>
      {problem && <p role="alert">{problem}</p>}
      <ul className={styles.artifacts}>
        {artifacts.map((one) => (
          <li key={one.name}>
            <button type="button" onClick={() => save(one.name)} title={`Download ${one.name}`}>
              {one.name}
            </button>
            <span>{bytes(one.size)}</span>
            <code title={`SHA-256 ${one.sha256}`}>{one.sha256.slice(0, 12)}</code>
          </li>
        ))}
      </ul>
    </>
  );
}

interface EvidenceViewProps {
  attempt: Attempt;
  /** The phase to be shown first. */
  phase: number | undefined;
}

/** Every phase, grading and outcome as it is stored. */
export function EvidenceView({ attempt, phase }: EvidenceViewProps) {
  useEffect(() => {
    if (phase !== undefined) document.getElementById(`phase-${phase}`)?.scrollIntoView({ block: "start" });
  }, [phase]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section className={styles.view} tabIndex={0} aria-label="Evidence">
      <h2>Phases</h2>
      {attempt.evidence.length === 0 && <p className="muted">No phase has ended yet.</p>}
      {attempt.evidence.map((one) => (
        <article key={one.seq} id={`phase-${one.seq}`} data-chosen={one.seq === phase ? "" : undefined}>
          <h3>
            {one.seq}. {words(one.phase)} <Time at={one.started_at} exact />–<Time at={one.ended_at} exact />
            {one.detail.failed ? <strong> failed</strong> : null}
          </h3>
          <Facts detail={one.detail} />
        </article>
      ))}
      <h2>Gradings</h2>
      {attempt.gradings.length === 0 && <p className="muted">It was not graded.</p>}
      {attempt.gradings.map((one) => (
        <article key={`${one.verifier_digest} ${one.number}`}>
          <h3>
            {one.number}. {rewardsOf(one.rewards)} <Time at={one.graded_at} exact />
          </h3>
          <Facts
            detail={{
              mode: one.mode,
              backend: one.backend,
              forgeable: one.forgeable,
              verifier: one.verifier_digest,
              ...one.detail,
            }}
          />
        </article>
      ))}
      <h2>Outcomes, of every policy</h2>
      {attempt.outcomes.length === 0 && <p className="muted">There is none yet.</p>}
      {attempt.outcomes.map((one) => (
        <article key={`${one.policy_version} ${one.grading}`}>
          <h3>
            <Chip name={one.class} /> {one.policy_version}
          </h3>
          <Facts detail={{ ...one }} />
        </article>
      ))}
      <h2>Limits</h2>
      <Facts detail={attempt.attempt.limits} />
    </section>
  );
}

function Facts({ detail }: { detail: Detail }) {
  const entries = Object.entries(detail);
  if (entries.length === 0) return <p className="muted">Nothing to tell.</p>;
  return (
    <dl className={styles.pairs}>
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{typeof value === "object" && value !== null ? <Json value={value} /> : <Text>{said(value)}</Text>}</dd>
        </div>
      ))}
    </dl>
  );
}

function Json({ value }: { value: object }) {
  return <Text>{JSON.stringify(value, null, 2)}</Text>;
}

/** Text whose long lines are scrolled, by keyboard too. */
function Text({ children }: { children: string }) {
  // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
  return <pre tabIndex={0}>{children}</pre>;
}
