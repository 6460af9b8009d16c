/** The browser's session: a cookie that no script can read, set by the server for a key that opens something. */
import type { QueryClient } from "@tanstack/react-query";
import { forgetDrafts } from "../parts/draft";
import { forgetPlaces } from "../shell/palette/recent";
import { PAGE_HEADER } from "./client";
import { problemOf, unreachable } from "./problem";
import type { Founded, Me } from "./schema";

const HEADERS = { ...PAGE_HEADER, "Content-Type": "application/json" };

/** Sign in with an API key. Throws `Problem`. */
export function signIn(key: string): Promise<Me> {
  return sent("POST", "/api/v1/session", { key });
}

/** Use the one-time link of a new server. The answer holds the owner's first key. Throws `Problem`. */
export function setUp(token: string, tenant: string, owner: string): Promise<Founded> {
  return sent("POST", "/api/v1/setup", { token, tenant, owner });
}

/** Forget the session, here, in every answer that was kept, in the places that were gone to and in what was being written. */
export async function signOut(client: QueryClient): Promise<void> {
  await sent("DELETE", "/api/v1/session");
  client.clear();
  forgetPlaces();
  forgetDrafts();
  globalThis.location.assign("/");
}

async function sent<T>(method: string, path: string, body?: unknown): Promise<T> {
  const request = { method, headers: HEADERS, body: body === undefined ? null : JSON.stringify(body) };
  const answer = await fetch(path, request).catch(() => {
    throw unreachable();
  });
  const document = answer.status === 204 ? undefined : await answer.json().catch(() => undefined);
  if (!answer.ok) throw problemOf(answer.status, document);
  return document as T;
}
