/** A run-set file as the API takes it. */
import { parse, TomlError } from "smol-toml";
import { Problem } from "../../api/problem";
import type { RunSetCreation } from "../../api/schema";

/** Its document and the digest that the same file has everywhere. Throws `Problem` for what is no TOML. */
export async function creationOf(text: string): Promise<RunSetCreation> {
  return { spec: document(text) as RunSetCreation["spec"], spec_digest: await digest(text) } as RunSetCreation;
}

function document(text: string): Record<string, unknown> {
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
