/** What a call of a tool changes in a file, by what it was given: names of tools are each agent's own. */
export type Edit =
  | { kind: "change"; path: string; before: string; after: string }
  | { kind: "patch"; path: string; patch: string };

const PAIRS: [string, string][] = [
  ["old_string", "new_string"],
  ["old_str", "new_str"],
  ["search", "replace"],
];
const PATHS = ["file_path", "path", "filePath", "filename", "target_file"];
const WHOLE = ["content", "file_text", "contents", "new_source"];
const PATCHES = ["patch", "input"];

export function editOf(given: Record<string, unknown>): Edit | null {
  const textOf = (name: string) => (typeof given[name] === "string" ? (given[name] as string) : undefined);
  const path = PATHS.map(textOf).find((one) => one !== undefined) ?? "";
  for (const [old, fresh] of PAIRS) {
    const after = textOf(fresh);
    if (after !== undefined) return { kind: "change", path, before: textOf(old) ?? "", after };
  }
  const whole = WHOLE.map(textOf).find((one) => one !== undefined);
  if (path && whole !== undefined) return { kind: "change", path, before: "", after: whole };
  const patch = PATCHES.map(textOf).find((one) => one && /^\s*(\*\*\* Begin Patch|--- |diff --git)/.test(one));
  if (patch === undefined) return null;
  return { kind: "patch", path: path || (/^\*\*\* (?:Update|Add|Delete) File: (.+)$/m.exec(patch)?.[1] ?? ""), patch };
}
