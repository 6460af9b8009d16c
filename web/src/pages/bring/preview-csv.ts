/** What is seen of a CSV file before it is sent. */
import Papa from "papaparse"; // quotes and line ends as RFC 4180 has them, and as spreadsheets do
import { fieldsOf, type Preview } from "./preview";

/** Of a file's beginning the last row may be cut, and is left out. An empty cell says nothing. */
export function previewOfCsv(text: string, isWhole: boolean): Preview {
  const [header = [], ...all] = Papa.parse<string[]>(text, { skipEmptyLines: true, delimiter: "," }).data;
  const rows = isWhole ? all : all.slice(0, -1);
  const found = fieldsOf(rows.map((cells) => named(header, cells)));
  const unseen = header.filter((name) => !found.some((one) => one.name === name));
  const fields = [...found, ...unseen.map((name) => ({ name, kinds: [], present: 0, sample: null }))];
  return {
    rows: rows.length,
    fields: fields.sort((one, other) => header.indexOf(one.name) - header.indexOf(other.name)),
    problems: [],
  };
}

function named(header: readonly string[], cells: readonly string[]): object {
  return Object.fromEntries(header.map((name, at) => [name, cells[at] ?? ""]).filter(([, cell]) => cell !== ""));
}
