/** What can be told of rows before they are sent: their fields, and the lines that are none. */

export interface FieldSeen {
  name: string;
  kinds: readonly string[];
  /** Of the rows that were looked at, those that have it. */
  present: number;
  sample: string;
}

export interface Preview {
  rows: number;
  fields: readonly FieldSeen[];
  problems: readonly { line: number; reason: string }[];
}

const SAMPLE_LENGTH = 80;

/** Of JSON lines; of a file's beginning the last line may be cut, and is left out. */
export function previewOf(text: string, isWhole: boolean): Preview {
  const lines = text.split("\n");
  const seen = new Map<string, { kinds: Set<string>; present: number; sample: string }>();
  const problems: { line: number; reason: string }[] = [];
  let rows = 0;
  for (const [at, line] of (isWhole ? lines : lines.slice(0, -1)).entries()) {
    if (line.trim() === "") continue;
    const row = rowOf(line);
    if (typeof row === "string") {
      problems.push({ line: at + 1, reason: row });
      continue;
    }
    rows += 1;
    for (const [name, value] of Object.entries(row)) {
      const field = seen.get(name) ?? { kinds: new Set(), present: 0, sample: sampleOf(value) };
      field.kinds.add(kindOf(value));
      field.present += 1;
      seen.set(name, field);
    }
  }
  const fields = [...seen].map(([name, field]) => ({ ...field, name, kinds: [...field.kinds] }));
  return { rows, fields, problems };
}

/** A line's object, or why it is none. */
function rowOf(line: string): object | string {
  try {
    const value: unknown = JSON.parse(line);
    return kindOf(value) === "object" ? (value as object) : `a ${kindOf(value)}, not an object`;
  } catch {
    return "not JSON";
  }
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "list";
  return typeof value === "string" ? "text" : typeof value;
}

function sampleOf(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > SAMPLE_LENGTH ? `${text.slice(0, SAMPLE_LENGTH)}…` : text;
}
