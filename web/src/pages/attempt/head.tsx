import { Link } from "@tanstack/react-router";
import type { CellDetail } from "../../api/schema";
import { cost, count, duration, tokens } from "../../design/numbers";
import { lookOf, ownerOf, ownerWords, words } from "../../design/outcomes";
import { Button } from "../../parts/button";
import { Copy, copied } from "../../parts/copy";
import { Chip, Glyph } from "../../parts/glyph";
import { type Attempt, decidingPhase, meanwhile, type OutcomeRow, secondsBetween, tokensOf } from "./documents";
import styles from "./head.module.css";
import type { Neighbours } from "./neighbours";

interface HeadProps {
  attempt: Attempt;
  cell: CellDetail | undefined;
  neighbours: Neighbours | null;
  go: (attempt: string) => void;
}

/** Whose attempt it is at what, the others at the same cell, and the way to the next that needs somebody. */
export function Head({ attempt, cell, neighbours, go }: HeadProps) {
  const { attempt: row } = attempt;
  return (
    <header className={styles.head}>
      <h1>
        {cell ? (
          <>
            {cell.profile} · <span>{cell.task}</span> · trial {cell.cell.trial}
          </>
        ) : (
          `Attempt ${row.id.slice(0, 13)}`
        )}
      </h1>
      {cell && <Siblings cell={cell} current={row.id} />}
      {(neighbours === null || neighbours.count > 0) && (
        <nav className={styles.neighbours} aria-label="Cells that failed or are owed">
          <Button
            onClick={() => neighbours?.before && go(neighbours.before)}
            disabled={!neighbours?.before}
            aria-label="Previous failed or owed cell"
            title="Previous failed or owed cell ([)"
          >
            ◀
          </Button>
          <span>
            {neighbours?.place ? `${count(neighbours.place)}/` : ""}
            {neighbours ? count(neighbours.count) : "…"} failed or owed
          </span>
          <Button
            onClick={() => neighbours?.after && go(neighbours.after)}
            disabled={!neighbours?.after}
            aria-label="Next failed or owed cell"
            title="Next failed or owed cell (])"
          >
            ▶
          </Button>
        </nav>
      )}
      <Copy text={() => globalThis.location.href} className={styles.copy} title="Copy a link to what you see (y)">
        Copy link
      </Copy>
      {cell && cell.run_set.id !== row.run_set_id && (
        <span className="muted">
          reused: it ran in{" "}
          <Link to="/run-sets/$runSet" params={{ runSet: row.run_set_id }}>
            another run set
          </Link>
        </span>
      )}
      {cell && (
        <Link
          className={styles.back}
          to="/run-sets/$runSet"
          params={{ runSet: cell.run_set.id }}
          search={{ cell: cell.cell.cell }}
        >
          {cell.run_set.name}
        </Link>
      )}
    </header>
  );
}

function Siblings({ cell, current }: { cell: CellDetail; current: string }) {
  return (
    <nav aria-label="Attempts at this cell, the oldest first">
      <ol className={styles.siblings}>
        {cell.attempts.map((one) => {
          const state = one.outcome ?? "running";
          return (
            <li key={one.id}>
              <Link
                to="/attempts/$attempt"
                params={{ attempt: one.id }}
                search={({ of }) => ({ of })}
                aria-current={one.id === current ? "page" : undefined}
                data-group={one.outcome ? lookOf(one.outcome).group : undefined}
                title={`Attempt ${one.number}: ${words(state)}. ${one.why}`}
              >
                {one.number}
                {one.outcome && <Glyph name={one.outcome} />}
                <span className="hidden">{words(state)}</span>
              </Link>
            </li>
          );
        })}
      </ol>
    </nav>
  );
}

/** The address of what is seen, on the clipboard. */
export function copyLink(): Promise<boolean> {
  return copied(globalThis.location.href);
}

interface WhyProps {
  attempt: Attempt;
  outcome: OutcomeRow | undefined;
  why: string | undefined;
  openEvidence: (phase: number | undefined) => void;
}

/** Class, owner and the first cause in one line, by which rule, and what it took. It is never empty. */
export function WhyLine({ attempt, outcome, why, openEvidence }: WhyProps) {
  const { attempt: row } = attempt;
  const phase = decidingPhase(attempt);
  return (
    <section className={styles.why} aria-label="Why">
      {outcome ? <Chip name={outcome.class} /> : <span className={styles.running}>running</span>}
      {outcome && (
        <span className={styles.owner}>
          {ownerWords(ownerOf(outcome.class))}
          {outcome.verdict === null ? ", owed" : ""}
          {outcome.limit && `, ${outcome.limit} limit`}
        </span>
      )}
      <p className={styles.cause} data-why>
        {why || meanwhile(attempt, outcome)}{" "}
        {phase && (
          <button type="button" className={styles.link} onClick={() => openEvidence(phase.seq)}>
            evidence: {words(phase.phase)} ↗
          </button>
        )}
      </p>
      <span className={styles.facts}>
        {outcome && (
          <span>
            rule <code>{outcome.rule}</code>, policy <code>{outcome.policy_version}</code>
          </span>
        )}
        <span title={row.usage ? undefined : "Nobody said what it used"}>{cost(row.usage?.cost_nano)}</span>
        <span title={String(tokensOf(row) ?? "Nobody said what it used")}>{tokens(tokensOf(row))} tok</span>
        <span>{duration(secondsBetween(row.started_at, row.ended_at))}</span>
      </span>
    </section>
  );
}
