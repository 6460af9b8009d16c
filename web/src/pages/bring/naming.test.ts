import { expect, test } from "vitest";
import { formatOf, namingOf } from "./naming";
import { previewOf } from "./preview";

test("the usual names of an example's parts are found, the most usual first", () => {
  expect(namingOf(previewOf('{"answer":1,"question":2,"nr":3}', true))).toEqual({
    id: "",
    input: "question",
    expected: "answer",
  });
  expect(namingOf(previewOf('{"input":1,"prompt":2,"id":3}', true))).toMatchObject({ id: "id", input: "input" });
  expect(namingOf(null)).toEqual({ id: "", input: "", expected: "" });
});

test("a file is told by its ending", () => {
  expect(["a.jsonl", "A.NDJSON", "b.csv", "c.parquet", "d"].map(formatOf)).toEqual([
    "jsonl",
    "jsonl",
    "csv",
    "parquet",
    "jsonl",
  ]);
});
