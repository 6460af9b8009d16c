import { Fragment } from "react";
import { count } from "../design/numbers";
import { CLASSES, lookOf, type Owner, ownerOf, ownerWords, tokenOf, words } from "../design/outcomes";
import { Glyph } from "./glyph";
import styles from "./pills.module.css";

export interface Part {
  state: string;
  decided: boolean;
  cells: number;
}

interface PillsProps {
  parts: readonly Part[];
  chosen: readonly string[];
  /** `add`: beside what is chosen already. */
  choose: (state: string, add: boolean) => void;
  owners: readonly Owner[];
  chooseOwner: (owner: Owner) => void;
}

/** What became of the cells: one bar, and its legend, which are the same filter. */
export function Pills({ parts, chosen, choose, owners, chooseOwner }: PillsProps) {
  const total = parts.reduce((sum, one) => sum + one.cells, 0);
  const isChosen = (state: string) => chosen.includes(state);
  const groups = [parts.filter((one) => one.decided), parts.filter((one) => !one.decided)];
  return (
    <section aria-label="Cells by class" className={styles.pills}>
      <div className={styles.bar}>
        {parts.map((one) => (
          <button
            key={`${one.state} ${one.decided}`}
            type="button"
            className={styles.segment}
            data-class={one.state}
            data-open={one.decided || lookOf(one.state).hollow ? undefined : ""}
            data-hollow={lookOf(one.state).hollow ? "" : undefined}
            data-faint={chosen.length && !isChosen(one.state) ? "" : undefined}
            style={{ flexGrow: one.cells / Math.max(1, total), ["--fill" as string]: `var(--${fillOf(one.state)})` }}
            onClick={(event) => choose(one.state, event.shiftKey)}
            title={told(one)}
            aria-label={`${words(one.state)}, ${count(one.cells)} cells${one.decided ? "" : ", owed"}`}
          />
        ))}
      </div>
      <div className={styles.legend}>
        {groups.map((group, at) =>
          group.length === 0 ? null : (
            <span key={at === 0 ? "decided" : "owed"} className={styles.group}>
              {at === 1 && <span className="muted">owed:</span>}
              {group.map((one, place) => (
                <Fragment key={one.state}>
                  {whose(one) !== whose(group[place - 1]) && <Whose part={one} chosen={owners} choose={chooseOwner} />}
                  <button
                    type="button"
                    title={told(one)}
                    className={styles.pill}
                    data-group={lookOf(one.state).group}
                    data-class={one.state}
                    aria-pressed={isChosen(one.state)}
                    onClick={(event) => choose(one.state, event.shiftKey)}
                  >
                    <Glyph name={one.state} />
                    {words(one.state)} <b>{count(one.cells)}</b>
                  </button>
                </Fragment>
              ))}
            </span>
          ),
        )}
      </div>
    </section>
  );
}

/** Before the classes of one owner: all of these together. */
function Whose({ part, chosen, choose }: { part: Part; chosen: readonly Owner[]; choose: (owner: Owner) => void }) {
  if (!CLASSES.includes(part.state)) return <small className="muted">{whose(part)}</small>;
  const owner = ownerOf(part.state);
  return (
    <button
      type="button"
      className={styles.owner}
      title={`Only classes of this owner: ${ownerWords(owner)}`}
      aria-pressed={chosen.includes(owner)}
      onClick={() => choose(owner)}
    >
      {ownerWords(owner)}
    </button>
  );
}

function told(one: Part): string {
  return `${words(one.state)} (${whose(one)}): ${count(one.cells)}${one.decided ? "" : ", owed"}`;
}

/** The owner of a class; a state that is no outcome has none. */
function whose(one: Part | undefined): string | undefined {
  return one && (CLASSES.includes(one.state) ? ownerWords(ownerOf(one.state)) : "no outcome");
}

function fillOf(state: string): string {
  if (state === "queued" || state === "not_started" || state === "withdrawn") return "line";
  if (state === "running") return "accent";
  if (state === "waiting") return "border";
  return `${tokenOf(state)}-fill`;
}
