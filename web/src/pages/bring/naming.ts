/** What rows call the parts of an example, and what a file is by its name. */
import type { Preview } from "./preview";

export interface Naming {
  id: string;
  input: string;
  expected: string;
}

export const NAMED: readonly { part: keyof Naming; label: string }[] = [
  { part: "id", label: "Id" },
  { part: "input", label: "Input" },
  { part: "expected", label: "Expected output" },
];

const USUAL: Record<keyof Naming, readonly string[]> = {
  id: ["id", "example_id", "key"],
  input: ["input", "question", "prompt", "query", "text"],
  expected: ["expected", "answer", "target", "expected_output", "output", "label"],
};

/** The usual names that are there. Without an id examples are known by what they hold. */
export function namingOf(preview: Preview | null): Naming {
  const there = new Set(preview?.fields.map((one) => one.name));
  const usual = (part: keyof Naming) => USUAL[part].find((name) => there.has(name)) ?? "";
  return { id: usual("id"), input: usual("input"), expected: usual("expected") };
}

const FORMATS: Record<string, string> = { jsonl: "jsonl", ndjson: "jsonl", csv: "csv", parquet: "parquet" };

/** As the API calls it; what has another ending is taken for lines, and the server says what is wrong with it. */
export function formatOf(file: string): string {
  return FORMATS[file.split(".").at(-1)?.toLowerCase() ?? ""] ?? "jsonl";
}
