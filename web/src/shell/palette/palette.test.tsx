import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, expect, test, vi } from "vitest";
import type { Me } from "../../api/schema";
import { shown } from "../../testing/render";
import { useKeys } from "../keys";
import { type Known, offered } from "./entries";
import { Palette } from "./palette";
import { idOf, pathOf } from "./pasted";
import { forgetPlaces, recentPlaces, remember } from "./recent";

const ME = {
  tenant: "t1",
  permissions: ["self", "runs:read", "suites:read", "datasets:read", "evaluators:read"],
} as unknown as Me;
const ID = "01a22e2c-a2fa-78c5-aaf7-000000000003";
const LISTS: Record<string, unknown[]> = {
  "/api/v1/run-sets": [{ id: ID, name: "nightly-0918", state: "complete_with_gaps" }],
  "/api/v1/suites": [{ suite_id: "9f3a00112233", aliases: ["terminal-bench"], task_count: 88 }],
  "/api/v1/datasets": [{ name: "refunds", version: "v7", rows: 4120 }],
  "/api/v1/jobs": [],
  "/api/v1/evaluators": [],
};
/** Before anything is imported: the API's client takes the `fetch` that there is when it is made. */
const server = vi.hoisted(() => {
  const made = { asked: [] as string[], lists: {} as Record<string, unknown[]>, next: null as string | null };
  globalThis.fetch = async (request) => {
    const { pathname, searchParams } = new URL((request as Request).url);
    const words = searchParams.get("words");
    const path = words === null ? pathname : `${pathname} ${words}`;
    made.asked.push(path);
    if (searchParams.has("cursor")) return Response.json({ items: [], next: null });
    return Response.json({ items: made.lists[path] ?? [], next: made.next });
  };
  return made;
});

beforeEach(() => {
  localStorage.clear();
  server.asked = [];
  server.lists = LISTS;
  server.next = null;
});

/** Put a text in the place of what is there. */
function say(field: HTMLElement, text: string): void {
  fireEvent.change(field, { target: { value: text } });
}

function Page({ close = () => {}, filter = () => {} }: { close?: () => void; filter?: () => void }) {
  useKeys([
    { keys: "/", what: "Filter by task", run: filter },
    { keys: "Mod+k", what: "Go to, or do, by name", run: () => undefined },
  ]);
  return <Palette me={ME} close={close} />;
}

const names = () => screen.queryAllByRole("menuitem").map((one) => one.textContent);

test("it asks the server once, for what one may see", async () => {
  await shown(<Page />);
  const field = await screen.findByRole("textbox", { name: "Go to, or do" });
  say(field, "nightly");
  expect(await screen.findByRole("menuitem", { name: /nightly-0918/ })).toBeTruthy();
  say(field, "refunds");
  expect(await screen.findByRole("menuitem", { name: /refunds/ })).toBeTruthy();
  expect(server.asked.sort()).toEqual(Object.keys(LISTS).sort());
});

test("what is older than the newest that came is asked for by name, once one stops typing", async () => {
  server.next = "older";
  server.lists = { ...LISTS, "/api/v1/run-sets spring": [{ id: `${ID}9`, name: "spring-0301", state: "complete" }] };
  await shown(<Page />);
  const field = await screen.findByRole("textbox", { name: "Go to, or do" });
  for (const typed of ["s", "sp", "spr", "spring 0301"]) say(field, typed);
  expect(await screen.findByRole("menuitem", { name: /spring-0301/ })).toBeTruthy();
  const named = server.asked.filter((one) => one.includes(" "));
  expect(named.sort()).toEqual(["/api/v1/jobs spring", "/api/v1/run-sets spring"]);
});

test("before anything is typed it offers recent places, this page's actions and the pages one may see", async () => {
  remember("t1", { what: "Run set", which: "nightly-0918", path: `/run-sets/${ID}` });
  remember("t2", { what: "Run set", which: "another tenant's", path: "/run-sets/x" });
  await shown(<Page />);
  await screen.findByRole("menu");
  const told = names().join("\n");
  expect(told).toContain("nightly-0918Run set");
  expect(told).toContain("Filter by task/");
  expect(told).toContain("Leaderboardg l");
  for (const absent of ["another", "Costs", "by name"]) expect(told).not.toContain(absent);
});

test("the keyboard alone chooses: what is done is done after the palette is closed", async () => {
  const done: string[] = [];
  await shown(<Page close={() => void done.push("closed")} filter={() => void done.push("filtered")} />);
  const field = await screen.findByRole("textbox");
  say(field, "filter");
  await waitFor(() => expect(names()).toEqual(["Filter by task/"]));
  fireEvent.keyDown(field, { key: "ArrowDown" });
  fireEvent.keyDown(field, { key: "Enter" });
  fireEvent.keyUp(field, { key: "Enter" });
  await waitFor(() => expect(done).toEqual(["closed", "filtered"]));
});

test("what fits nothing says so, and another server's address by name", async () => {
  await shown(<Page />);
  const field = await screen.findByRole("textbox");
  say(field, "zzz");
  expect(await screen.findByText("Nothing here has that name or id.")).toBeTruthy();
  say(field, "https://elsewhere.example/attempts/1");
  expect(await within(screen.getByRole("menu")).findByText(/another server/)).toBeTruthy();
});

const NOTHING: Known = { recent: [], places: [], bindings: [], named: [], origin: "http://here" };
const found = (typed: string, known = NOTHING) => offered(typed, known).flatMap((one) => one.entries.map((e) => e.to));

test("an address of this server leads to where it says, with all that it says", () => {
  expect(found("http://here/attempts/a?step=4#L22")).toEqual(["/attempts/a?step=4#L22"]);
  expect(found(" /run-sets/r ")).toEqual(["/run-sets/r"]);
  expect(pathOf("http://here.example.org/x", "http://here")).toBeNull();
  expect(pathOf("//elsewhere.example/x", "http://here")).toBeUndefined();
});

test("an id is that of a known thing, else of an attempt or a run set", () => {
  expect(found(ID)).toEqual([`/attempts/${ID}`, `/run-sets/${ID}`]);
  const entries = [{ key: "r", name: "nightly", id: ID, to: `/run-sets/${ID}` }];
  expect(found(ID.slice(0, 13), { ...NOTHING, named: [{ name: "Run sets", entries }] } as never)).toEqual([
    `/run-sets/${ID}`,
  ]);
  expect(idOf("01a22e2c-a2fa")).toBe("01a22e2c-a2fa");
  expect(idOf("nightly-0918")).toBeUndefined();
});

test("recent places are few, each once, the newest first, and forgotten by who signs out", () => {
  for (let n = 0; n < 30; n++) remember("t1", { what: "Run set", which: `r${n % 20}`, path: `/run-sets/${n % 20}` });
  expect(recentPlaces("t1")).toHaveLength(12);
  expect(recentPlaces("t1")[0]?.which).toBe("r9");
  localStorage.setItem("proctor.recent.t1", '[{"what":"x","which":"y","path":"//elsewhere.example"}, 7]');
  expect(recentPlaces("t1")).toEqual([]);
  forgetPlaces();
  expect(localStorage).toHaveLength(0);
});

const HERE = { id: ID, name: "nightly", profiles: ["droid-sonnet-4-5", "codex"], tasks: ["june/init", "june/tests"] };
const OTHERS = { name: "Run sets", entries: [{ key: "r", name: "weekly", id: "w1", to: "/run-sets/w1" }] };

test("cells are found by their class, whose fault they are, their profile and their task", () => {
  const known = { ...NOTHING, here: HERE, named: [OTHERS] };
  expect(found("class:image_error model:sonnet", known)).toEqual([
    `/run-sets/${ID}?class=image_error&profile=droid-sonnet-4-5`,
    "/run-sets/w1?class=image_error&profile=sonnet",
  ]);
  expect(found("owner:provider task:init", known)[0]).toBe(
    `/run-sets/${ID}?class=provider_auth%2Cprovider_rate_limit%2Cprovider_error&task=init`,
  );
  expect(found("owner:operator", known)[0]).toContain("cancelled");
  expect(found("class:image", { ...NOTHING, named: [OTHERS] })).toEqual(["/run-sets/w1?class=image_error"]);
});

test("what means no cells leads to none", () => {
  const known = { ...NOTHING, here: HERE };
  for (const typed of ["class:nothing", "owner:me", "class:", "profile:absent", "class:passed more"])
    expect(found(typed, known).filter((to) => to?.includes("class="))).toEqual([]);
});

test("profiles and tasks of the page's run set lead to their cells", () => {
  const known = { ...NOTHING, here: HERE };
  expect(found("codex", known)).toEqual([`/run-sets/${ID}?profile=codex`]);
  expect(found("june init", known)).toEqual([`/run-sets/${ID}?task=june%2Finit`]);
});
