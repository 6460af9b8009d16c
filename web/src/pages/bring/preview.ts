/** What can be told of rows before they are sent: their fields, and the lines that are none. */

export interface FieldSeen {
  name: string;
  kinds: readonly string[];
  /** Of the rows that were looked at, those that have it; `null`: none was. */
  present: number | null;
  sample: string | null;
}

export interface Preview {
  /** That were looked at, or that there are where none was. */
  rows: number;
  fields: readonly FieldSeen[];
  problems: readonly { line: number; reason: string }[];
}

const SAMPLE_LENGTH = 80;

/** Of JSON lines; of a file's beginning the last line may be cut, and is left out. */
export function previewOf(text: string, isWhole: boolean): Preview {
  const lines = text.split("\n");
  const problems: { line: number; reason: string }[] = [];
  const rows: object[] = [];
  for (const [at, line] of (isWhole ? lines : lines.slice(0, -1)).entries()) {
    if (line.trim() === "") continue;
    const row = rowOf(line);
    if (typeof row === "string") problems.push({ line: at + 1, reason: row });
    else rows.push(row);
  }
  return { rows: rows.length, fields: fieldsOf(rows), problems };
}

/** The fields of rows, in the order in which they come up. */
export function fieldsOf(rows: readonly object[]): FieldSeen[] {
  const seen = new Map<string, { kinds: Set<string>; present: number; sample: string }>();
  for (const row of rows) {
    for (const [name, value] of Object.entries(row)) {
      const field = seen.get(name) ?? { kinds: new Set(), present: 0, sample: sampleOf(value) };
      field.kinds.add(kindOf(value));
      field.present += 1;
      seen.set(name, field);
    }
  }
  return [...seen].map(([name, field]) => ({ ...field, name, kinds: [...field.kinds] }));
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
