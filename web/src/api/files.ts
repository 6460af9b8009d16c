/** Answers that are files: fetched by the page, since a link can't carry its header, and handed to the reader. */
import { PAGE_HEADER } from "./client";
import { problemOf, unreachable } from "./problem";

const KEPT_MS = 60_000;

/** An answer that is no JSON document. Throws `Problem`. */
export async function fetched(path: string, signal?: AbortSignal): Promise<Response> {
  const answer = await fetch(path, { headers: PAGE_HEADER, signal: signal ?? null }).catch((error) => {
    throw error instanceof DOMException && error.name === "AbortError" ? error : unreachable();
  });
  if (!answer.ok) throw problemOf(answer.status, await answer.json().catch(() => undefined));
  return answer;
}

/** Give the reader a file of the server's. Throws `Problem`. */
export async function download(path: string, name: string): Promise<void> {
  save(await (await fetched(path)).blob(), name);
}

/** Give the reader a file. */
export function save(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name.replaceAll("/", "-");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}
