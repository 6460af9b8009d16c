import { Link } from "@tanstack/react-router";
import { isPermission, useMay, whoMay } from "../api/permitted";
import { Problem } from "../api/problem";
import type { Permission } from "../api/schema";
import { Button } from "./button";
import { PageHead } from "./section";
import styles from "./states.module.css";
import { Told } from "./told";

interface EmptyProps {
  children: string;
  /** What fills it, for who may. */
  command?: { needs: Permission; words?: string; text: string };
  action?: React.ReactNode;
}

/** A first run set. */
export const STARTS_ONE = { needs: "runs:write", words: "This starts one:", text: "proctor run nightly.toml" } as const;

/** Nothing is there: one sentence, and what fills it. */
export function Empty({ children, command, action }: EmptyProps) {
  return (
    <div className={styles.state}>
      <p>{children}</p>
      {command && <Command {...command} />}
      {action}
    </div>
  );
}

function Command({ needs, words, text }: NonNullable<EmptyProps["command"]>) {
  if (!useMay(needs)) return null;
  return (
    <>
      {words && <p>{words}</p>}
      <code className={styles.command}>{text}</code>
    </>
  );
}

/** The place of what is on its way, in its final size; seen only if it takes long. */
export function Loading({ rows = 8, what }: { rows?: number; what: string }) {
  return (
    <div className={styles.loading} role="status" aria-label={`Loading ${what}`}>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows that are all the same
        <div key={row} className={styles.bone} />
      ))}
    </div>
  );
}

/** What went wrong, what to do, and the trace to tell somebody. `page`: the title of the page that it is all of. */
export function Failed({ page, ...rest }: { error: unknown; retry?: () => void; page?: string }) {
  if (page === undefined) return <Fault {...rest} />;
  return (
    <>
      <PageHead title={page} />
      <Fault {...rest} />
    </>
  );
}

function Fault({ error, retry }: { error: unknown; retry?: () => void }) {
  const problem = error instanceof Problem ? error : null;
  if (problem?.status === 403) return <Forbidden needs={permissionOf(problem)} words={problem.message} />;
  if (problem?.code === "cursor") return <LostPage />;
  if (problem?.isOfAddress) return <Unreadable problem={problem} />;
  return (
    <div className={styles.state} role="alert">
      <h2>{problem?.status === 404 ? "There is no such thing here" : "That did not work"}</h2>
      <p>
        <Told text={error instanceof Error ? error.message : "Something broke on this page."} />
      </p>
      {problem?.remedy && (
        <p className="muted">
          <Told text={problem.remedy} />
        </p>
      )}
      {problem?.traceId && (
        <p className="muted">
          trace <code>{problem.traceId}</code>
        </p>
      )}
      {retry && <Button onClick={retry}>Retry</Button>}
    </div>
  );
}

/** The address names a page of a list as it was with another filter, or before: to ask again changes nothing. */
function LostPage() {
  return (
    <div className={styles.state} role="alert">
      <h2>This page of the list can't be found</h2>
      <p>Its address is of another list, or of one that was filtered otherwise.</p>
      <Link to="." search={(before: object) => ({ ...before, cursor: undefined }) as never}>
        Back to the first page
      </Link>
    </div>
  );
}

function Unreadable({ problem }: { problem: Problem }) {
  return (
    <div className={styles.state} role="alert">
      <h2>This address asks for what can't be</h2>
      <p>{problem.message}</p>
      <Link to="." search={{} as never}>
        The page without its filters
      </Link>
    </div>
  );
}

/** `needs`: what whoever asked may not do; `words`: what was said, where it is nothing of a role. */
export function Forbidden({ needs, words }: { needs?: Permission; words?: string }) {
  return (
    <div className={styles.state} role="alert">
      <h2>This is not for your role</h2>
      <p>{needs ? `It is for ${whoMay(needs)}.` : words}</p>
      <p className="muted">Ask an admin or owner of your tenant, who can give you another role.</p>
    </div>
  );
}

/** Which permission a refusal names. */
function permissionOf({ message }: Problem): Permission | undefined {
  const [, named = ""] = /^The permission '([a-z:]+)' is needed/.exec(message) ?? [];
  return isPermission(named) ? named : undefined;
}

/** What stood before is shown while it can't be had anew. */
export function Stale({ error, since, retry }: { error: unknown; since: number; retry: () => void }) {
  const age = Math.max(0, Math.round((Date.now() - since) / 1000));
  return (
    <p className={styles.stale} role="status">
      {error instanceof Error ? error.message : "It can't be had anew."} What you see is {age} s old.{" "}
      <Button onClick={retry}>Retry</Button>
    </p>
  );
}
