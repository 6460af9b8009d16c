/** A run-set file as the API takes it. */
import { parse, TomlError } from "smol-toml";
import { Problem } from "../../api/problem";
import type { RunSetCreation } from "../../api/schema";
import { contentOf, EMPTY, type Source } from "../../parts/source";

/** What is written: the file, and the scripts that it names by their paths in it. */
export interface Written {
  text: string;
  scripts: Readonly<Record<string, Source>>;
}

/** Its document and the digest that the same file has everywhere. Throws `Problem` for what is no TOML. */
export async function creationOf({ text, scripts }: Written): Promise<RunSetCreation> {
  const spec = document(text);
  const texts = await Promise.all(namesOf(spec).map((name) => scriptOf(name, scripts[name])));
  return {
    spec: spec as RunSetCreation["spec"],
    spec_digest: await digest(text),
    scripts: Object.fromEntries(texts),
  } as RunSetCreation;
}

/** The paths of the scripts that a file names, each once; `null`: it is no TOML, as while one writes. */
export function scriptsNamed(text: string): string[] | null {
  try {
    return namesOf(parse(text));
  } catch {
    return null;
  }
}

/** What scripts hold that were written, dropped or chosen. */
export async function textsOf(scripts: Written["scripts"]): Promise<Record<string, string>> {
  const texts = Object.entries(scripts).map(async ([name, one]) => [name, await contentOf(one).text()]);
  return Object.fromEntries(await Promise.all(texts));
}

function namesOf({ profiles }: Record<string, unknown>): string[] {
  const named = (Array.isArray(profiles) ? profiles : []).map((one) => (one as { script?: unknown } | null)?.script);
  return [...new Set(named.filter((one) => typeof one === "string"))];
}

async function scriptOf(name: string, source: Source = EMPTY): Promise<[string, string]> {
  const content = contentOf(source);
  if (content.size === 0) {
    throw new Problem(
      422,
      "script-missing",
      `The script ${name} is empty.`,
      "Paste it below the file, or choose it there.",
    );
  }
  return [name, await content.text()];
}

function document(text: string): Record<string, unknown> {
  const spec = tomlOf(text);
  const place = unsendable(spec);
  if (place === null) return spec;
  throw new Problem(
    422,
    "toml-invalid",
    "A number that is none, or infinite, can't be meant.",
    "Write a number, or leave the field out.",
    null,
    place,
  );
}

/** Where a number stands that JSON does not have, and would send as nothing: `budget.cost`. */
function unsendable(value: unknown, place = ""): string | null {
  if (typeof value === "number") return Number.isFinite(value) ? null : place;
  if (typeof value !== "object" || value === null) return null;
  for (const [name, inside] of Object.entries(value)) {
    const found = unsendable(inside, place ? `${place}.${name}` : name);
    if (found !== null) return found;
  }
  return null;
}

function tomlOf(text: string): Record<string, unknown> {
  try {
    return parse(text);
  } catch (error) {
    const at = error instanceof TomlError ? `line ${error.line}, column ${error.column}: ` : "";
    const what = String((error as Error).message).split("\n")[0];
    throw new Problem(
      422,
      "toml-invalid",
      `The file is no TOML: ${at}${what}`,
      "docs/reference/run-set-file.md has an example.",
    );
  }
}

async function digest(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return [...bytes].map((one) => one.toString(16).padStart(2, "0")).join("");
}
