/** Files that are sent, and the work that the server makes of them: followed to its end. */
import { count } from "../design/numbers";
import { answered, api, PAGE_HEADER } from "./client";
import { Problem, problemOf, unreachable } from "./problem";
import type { Operation } from "./schema";

/** Between two looks, at most: short work is seen soon, long work is not asked for often. */
const LONGEST_MS = 2000;
const FIRST_MS = 150;

interface Sent {
  path: "/api/v1/datasets/imports" | "/api/v1/samples";
  query: Record<string, string | undefined>;
  content: Blob;
  /** How far it is, in words. */
  tell: (words: string) => void;
}

/** What the server made of a file. Throws `Problem`. */
export async function sent<T>({ path, query, content, tell }: Sent): Promise<T> {
  tell("sending");
  const given = Object.entries(query).filter((one): one is [string, string] => one[1] !== undefined);
  const answer = await fetch(`${path}?${new URLSearchParams(given)}`, {
    method: "POST",
    headers: { ...PAGE_HEADER, "Content-Type": "application/octet-stream" },
    body: content,
  }).catch(async () => {
    throw (await isReadable(content)) ? unreachable() : changed();
  });
  const said = await answer.json().catch(() => undefined);
  if (!answer.ok) throw problemOf(answer.status, said);
  return (await ended(said as Operation, tell)) as T;
}

/** Whether a file is still as it was when it was chosen: a browser sends no other. */
async function isReadable(content: Blob): Promise<boolean> {
  return content
    .slice(0, 1)
    .arrayBuffer()
    .then(
      () => true,
      () => false,
    );
}

function changed(): Problem {
  return new Problem(0, "file-changed", "The file was changed or removed since it was chosen.", "Choose it again.");
}

async function ended(begun: Operation, tell: Sent["tell"]): Promise<unknown> {
  let now = begun;
  for (let wait = FIRST_MS; now.ended_at == null; wait = Math.min(LONGEST_MS, wait * 1.5)) {
    tell(howFar(now));
    await new Promise((resolve) => setTimeout(resolve, wait));
    const params = { path: { operation: begun.id } };
    now = await answered(api.GET("/api/v1/operations/{operation}", { params }));
  }
  if (now.state !== "done") throw failed(now);
  return now.result;
}

function howFar({ state, progress: { done, total, words } }: Operation): string {
  if (done === 0) return state === "running" ? "reading" : "waiting for its turn";
  return `${count(done)}${total === null ? "" : ` of ${count(total)}`} ${words}`;
}

function failed({ state, error }: Operation): Problem {
  const text = (name: string) => (typeof error?.[name] === "string" ? (error[name] as string) : null);
  const detail = text("message") ?? `The server ended it: ${state}.`;
  return new Problem(422, text("code") ?? state, detail, text("remedy"), null, text("where"));
}
