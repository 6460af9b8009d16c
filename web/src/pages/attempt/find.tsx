import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { count } from "../../design/numbers";
import { Button } from "../../parts/button";
import styles from "./find.module.css";
import { foundSteps } from "./queries";

/** Between a key and the question: nobody means every letter. */
const TYPING_MS = 150;

interface FindProps {
  attempt: string;
  steps: number;
  text: string;
  current: number;
  say: (text: string | undefined) => void;
  choose: (step: number) => void;
}

/** Look for a text in all steps of the attempt: the server does, so that none need be here. */
export function Find({ attempt, steps, text, current, say, choose }: FindProps) {
  const [typed, setTyped] = useState(text);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  useEffect(() => {
    if (typed === text) return;
    const timer = setTimeout(() => say(typed), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, text, say]);
  const asked = useQuery({ ...foundSteps(attempt, text, steps), placeholderData: keepPreviousData });
  const found = text === "" ? [] : (asked.data?.items ?? []);
  const place = found.findIndex((one) => one.number === current) + 1;
  const seek = (by: 1 | -1) => {
    const next = by > 0 ? found.find((one) => one.number > current) : found.findLast((one) => one.number < current);
    const around = by > 0 ? found[0] : found.at(-1);
    const to = next ?? around;
    if (to) choose(to.number);
  };
  return (
    <search className={styles.find}>
      <input
        ref={input}
        type="search"
        aria-label="Find in all steps"
        placeholder="find in all steps"
        maxLength={200}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") seek(event.shiftKey ? -1 : 1);
          if (event.key === "Escape") say(undefined);
        }}
      />
      <span className={styles.said} role="status">
        {text === "" ? "" : asked.isFetching ? "…" : told(place, found.length, asked.data?.next != null)}
      </span>
      <Button
        onClick={() => seek(-1)}
        disabled={found.length === 0}
        aria-label="Previous"
        title="Previous (Shift Enter)"
      >
        ↑
      </Button>
      <Button onClick={() => seek(1)} disabled={found.length === 0} aria-label="Next" title="Next (Enter)">
        ↓
      </Button>
      <Button onClick={() => say(undefined)}>Close (Esc)</Button>
      {asked.error && <span role="alert">{asked.error.message}</span>}
      {found.length > 0 && (
        <ol className={styles.list} aria-label="Steps found">
          {found.slice(0, 50).map((one) => (
            <li key={one.number}>
              <button
                type="button"
                onClick={() => choose(one.number)}
                aria-current={one.number === current ? "true" : undefined}
              >
                <b>#{count(one.number)}</b> <span className="muted">{one.place}</span>{" "}
                <code>
                  <Marked text={one.excerpt} wanted={text} />
                </code>
              </button>
            </li>
          ))}
        </ol>
      )}
    </search>
  );
}

function told(place: number, found: number, more: boolean): string {
  if (found === 0) return "found nowhere";
  const of = `${count(found)}${more ? "+" : ""} ${found === 1 ? "step" : "steps"}`;
  return place ? `${count(place)} of ${of}` : of;
}

function Marked({ text, wanted }: { text: string; wanted: string }) {
  const at = text.toLowerCase().indexOf(wanted.toLowerCase());
  if (at < 0) return text;
  return (
    <>
      {text.slice(0, at)}
      <mark>{text.slice(at, at + wanted.length)}</mark>
      {text.slice(at + wanted.length)}
    </>
  );
}
