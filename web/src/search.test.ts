import { parseSearchWith, stringifySearchWith } from "@tanstack/react-router";
import { expect, test } from "vitest";
import { parsed, quoted, text } from "./search";

const parse = parseSearchWith(parsed) as (search: string) => Record<string, unknown>;
const stringify = stringifySearchWith(JSON.stringify, quoted);

test("what a reader typed into a field is that text when the address is read again", () => {
  for (const typed of [
    "1e5",
    "null",
    "true",
    "007",
    "12",
    '"late"',
    '"[x]"',
    "[1]",
    "[abc",
    "{",
    "a b&c=d",
    "-tag",
    "é",
  ])
    expect(text(parse(stringify({ q: typed })).q), typed).toBe(typed);
});

test("an address that was written by hand is read as it is written", () => {
  for (const [search, told] of [
    ["?q=1e5", "1e5"],
    ["?q=null", "null"],
    ['?q="late"', '"late"'],
  ] as const)
    expect(text(parse(search).q)).toBe(told);
  expect(parse('?tags=["a","b"]').tags).toEqual(["a", "b"]);
});
