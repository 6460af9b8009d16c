/** What is seen of a Parquet file before it is sent: its columns, which stand at its end. */
import { parquetMetadataAsync, parquetSchema, type SchemaElement } from "hyparquet"; // reads what any writer writes
import type { Preview } from "./preview";

/** `null` of what is no such file: the server says what is wrong with it. */
export async function previewOfParquet(file: Blob): Promise<Preview | null> {
  const slice = (start: number, end?: number) => file.slice(start, end).arrayBuffer();
  const found = await parquetMetadataAsync({ byteLength: file.size, slice }).catch(() => null);
  if (found === null) return null;
  const fields = parquetSchema(found).children.map(({ element }) => ({
    name: element.name,
    kinds: [kindOf(element)],
    present: null,
    sample: null,
  }));
  return { rows: Number(found.num_rows), fields, problems: [] };
}

const NUMBERS: ReadonlySet<string | undefined> = new Set(["INT32", "INT64", "FLOAT", "DOUBLE"]);
const TIMES = /^(DATE|TIME|TIMESTAMP|INTERVAL|DECIMAL)/;

/** As the server has its values: times and decimals are texts. */
function kindOf({ type, converted_type: converted, logical_type: logical, num_children }: SchemaElement): string {
  if (converted === "LIST" || logical?.type === "LIST") return "list";
  if (num_children) return "object";
  if (type === "BOOLEAN") return "boolean";
  const isNumber = NUMBERS.has(type) && !TIMES.test(logical?.type ?? converted ?? "");
  return isNumber ? "number" : "text";
}
