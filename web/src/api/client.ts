/** The public API, typed by its own OpenAPI document. The session's cookie is sent by the browser. */
import createClient from "openapi-fetch";
import { problemOf, unreachable } from "./problem";
import type { paths } from "./schema";

/** A header that no page of another site can send: without it the server does not look at the cookie. */
export const PAGE_HEADER = { "X-Proctor-Page": "1" };

export const api = createClient<paths>({ baseUrl: globalThis.location?.origin ?? "", headers: PAGE_HEADER });

interface Answered<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** What was answered. Throws `Problem`. */
export async function answered<T>(request: Promise<Answered<T>>): Promise<T> {
  let answer: Answered<T>;
  try {
    answer = await request;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw unreachable();
  }
  if (answer.error !== undefined || !answer.response.ok) throw problemOf(answer.response.status, answer.error);
  return answer.data as T;
}

/** A page of a list. */
export interface Page<T> {
  items: T[];
  next: string | null;
}

/** Of a page, where all of them are wanted: the most that the server gives. */
export const LONG = 1000;

/** A whole list, a page after the other: for what is looked through and never long. Throws `Problem`. */
export async function every<T>(ask: (cursor: string | undefined) => Promise<Page<T>>): Promise<Page<T>> {
  const items: T[] = [];
  let next: string | null = null;
  do {
    const page: Page<T> = await ask(next ?? undefined);
    items.push(...page.items);
    next = page.next;
  } while (next !== null);
  return { items, next };
}

/** A list's page with whole items: what is left out by `fields`, which no page asks for. Throws `Problem`. */
export async function paged<T>(
  request: Promise<Answered<{ items: unknown[]; next?: string | null }>>,
): Promise<Page<T>> {
  const { items, next } = await answered(request);
  return { items: items as T[], next: next ?? null };
}
