import { expect, test } from "vitest";
import { previewOf } from "./preview";
import { previewOfCsv } from "./preview-csv";
import { previewOfParquet } from "./preview-parquet";

test("rows are told by their fields, with the kinds of their values", () => {
  const { rows, fields, problems } = previewOf('{"id":"a","n":1}\n\n{"id":"b","n":null,"tags":["x"]}\n', true);
  expect(rows).toBe(2);
  expect(problems).toEqual([]);
  expect(fields).toEqual([
    { name: "id", kinds: ["text"], present: 2, sample: "a" },
    { name: "n", kinds: ["number", "null"], present: 2, sample: "1" },
    { name: "tags", kinds: ["list"], present: 1, sample: '["x"]' },
  ]);
});

test("lines that are no rows are told by their number", () => {
  const { rows, problems } = previewOf('{"id":"a"}\nnonsense\n[1]\n7\n{"id":"b"}', true);
  expect(rows).toBe(2);
  expect(problems).toEqual([
    { line: 2, reason: "not JSON" },
    { line: 3, reason: "a list, not an object" },
    { line: 4, reason: "a number, not an object" },
  ]);
});

test("of a file's beginning the last line may be cut", () => {
  expect(previewOf('{"id":"a"}\n{"id":"b', false)).toMatchObject({ rows: 1, problems: [] });
});

test("a field may be called as what every object has", () => {
  expect(previewOf('{"__proto__":1,"constructor":2}', true).fields.map((one) => one.name)).toEqual([
    "__proto__",
    "constructor",
  ]);
});

test("cells of a CSV file are told by its header, whatever stands between quotes", () => {
  const text = 'question,answer,note\n"Capital, of\nFrance?","Paris ""here""",\nItaly?,Rome,\n';
  expect(previewOfCsv(text, true)).toEqual({
    rows: 2,
    fields: [
      { name: "question", kinds: ["text"], present: 2, sample: "Capital, of\nFrance?" },
      { name: "answer", kinds: ["text"], present: 2, sample: 'Paris "here"' },
      { name: "note", kinds: [], present: 0, sample: null },
    ],
    problems: [],
  });
  expect(previewOfCsv("a,b\n1,2\n3,", false).rows).toBe(1);
  const other = previewOfCsv("a;b\n1;2\n", true).fields.map((one) => one.name);
  expect(other, "as the server reads it").toEqual(["a;b"]);
});

test("what is no Parquet file has no preview", async () => {
  expect(await previewOfParquet(new Blob(["no parquet at all, but long enough"]))).toBeNull();
  expect(await previewOfParquet(new Blob([]))).toBeNull();
});
