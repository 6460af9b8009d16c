import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { exampleOf, queryOfId } from "../../api/data";
import type { Change, ListedExample } from "../../api/schema";
import { Asked } from "../../parts/asked";
import { Button } from "../../parts/button";
import { changedRows, LineDiff } from "../../parts/line-diff";
import { useRevealed } from "../../parts/revealed";
import styles from "./dataset.module.css";

const FIELDS = ["input", "expected", "difficulty", "source", "tags", "metadata"] as const;
type Shown = (typeof FIELDS)[number];

interface ChangeProps {
  change: Change;
  before: string;
  after: string;
  close: () => void;
}

/** What an example said before and says now, field by field; loaded when first needed. */
export default function ChangeOfExample({ change, before, after, close }: ChangeProps) {
  const drawer = useRevealed(change.id);
  const was = useQuery({ ...exampleOf(before, change.id), enabled: change.kind !== "added" });
  const now = useQuery({ ...exampleOf(after, change.id), enabled: change.kind !== "removed" });
  const [first, second] = change.kind === "added" ? [now, now] : [was, change.kind === "removed" ? was : now];
  return (
    <aside ref={drawer} className={styles.drawer} aria-label={`Change of ${change.id}`}>
      <header className={styles.head}>
        <h2>{change.id}</h2>
        <Button onClick={close}>Close</Button>
      </header>
      <p className="muted">
        {change.kind !== "added" && <Whole reference={before} id={change.id} />}
        {change.kind === "changed" && " · "}
        {change.kind !== "removed" && <Whole reference={after} id={change.id} />}
      </p>
      <Asked query={first} what="the example as it was" rows={6}>
        {() => (
          <Asked query={second} what="the example as it is" rows={6}>
            {() => <Fields change={change} was={was.data ?? null} now={now.data ?? null} />}
          </Asked>
        )}
      </Asked>
    </aside>
  );
}

/** To the example itself, in a version that has it. */
function Whole({ reference, id }: { reference: string; id: string }) {
  return (
    <Link to="/datasets/$dataset" params={{ dataset: reference }} search={{ q: queryOfId(id), example: id }}>
      in {reference}
    </Link>
  );
}

interface FieldsProps {
  change: Change;
  was: ListedExample | null;
  now: ListedExample | null;
}

function Fields({ change, was, now }: FieldsProps) {
  const [open, setOpen] = useState<readonly Shown[]>([]);
  const holds = (name: Shown) => [was?.[name], now?.[name]].some((one) => one != null && !isEmptyList(one));
  const names = FIELDS.filter((name) => (change.kind === "changed" ? change.fields.includes(name) : holds(name)));
  const differing = names.map((name) => ({ name, ...textsOf(was?.[name], now?.[name]) }));
  return (
    <>
      {differing.map(({ name, before, after }) => (
        <LineDiff
          key={name}
          title={name}
          rows={changedRows(before, after)}
          expanded={open.includes(name)}
          expand={() => setOpen([...open, name])}
        />
      ))}
      {change.fields.includes("embedding") && <p className="muted">The embedding is another; exports have both.</p>}
    </>
  );
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** Both as they are read: texts as they are, all else as JSON; in JSON, and spelt out, what only that tells apart. */
export function textsOf(before: unknown, after: unknown): { before: string; after: string } {
  const isText = [before, after].every((one) => typeof one === "string" || one == null);
  const forms = isText ? [textOf, jsonOf, spelt] : [jsonOf, spelt];
  const form = forms.find((one) => seen(one(before)) !== seen(one(after))) ?? jsonOf;
  return { before: form(before), after: form(after) };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Nothing for what is not there. */
function jsonOf(value: unknown): string {
  return value === null || value === undefined ? "" : JSON.stringify(value, null, 2);
}

/** With marks and blanks that look like others by their numbers. */
function spelt(value: unknown): string {
  const number = (one: string) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return jsonOf(value).replace(/\p{M}|[^\P{Z} ]/gu, number);
}

/** What a reader can tell texts apart by: not by how an accent is made, nor by blanks at an end. */
function seen(text: string): string {
  return text.normalize("NFC").replace(/\p{Z}/gu, " ").replace(/ +$/gm, "").trim();
}
