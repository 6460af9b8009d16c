import type { AuditEntry } from "../../api/schema";
import { cost, count } from "../../design/numbers";

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const DIGEST = /^[0-9a-f]{40,}$/;
const NANO = "_nano";
const BEFORE = "before";
/** What stands where the entry says of what it is, and is not said again. */
const NAMES = new Set(["name"]);
const NAMES_OF_VERSIONS = new Set(["name", "dataset", "version"]);

/** What an entry says beside whom and what it is about: `role: viewer → member · disabled: no`. */
export function detailOf({ action, detail }: AuditEntry, users: ReadonlyMap<string, string> = new Map()): string {
  const said = (name: string, value: unknown) => users.get(String(value)) ?? wordOf(name, value);
  const shown = action.startsWith("dataset.") ? NAMES_OF_VERSIONS : NAMES;
  const before = replacedBy(detail[BEFORE]);
  return Object.entries(detail)
    .filter(([name]) => name !== BEFORE && !shown.has(name))
    .map(([name, value]) => {
      const was = name in before ? `${said(name, before[name])} → ` : "";
      return `${wordsOf(name)}: ${was}${said(name, value)}`;
    })
    .join(" · ");
}

/** An id is known by its first eight characters, a digest by its first twelve, all else as it is. */
export function shortened(text: string): string {
  if (DIGEST.test(text)) return text.slice(0, 12);
  return ID.test(text) ? text.slice(0, 8) : text;
}

function replacedBy(before: unknown): Record<string, unknown> {
  return typeof before === "object" && before !== null ? (before as Record<string, unknown>) : {};
}

function wordsOf(name: string): string {
  return name.replace(NANO, "").replaceAll("_", " ");
}

function wordOf(name: string, value: unknown): string {
  if (name === "scopes" && value === null) return "all of its user's role";
  if (value === null || value === undefined) return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return name.endsWith(NANO) ? cost(value) : count(value);
  if (typeof value === "string") return shortened(value);
  if (Array.isArray(value)) return value.map((one) => wordOf(name, one)).join(", ") || "none";
  return JSON.stringify(value);
}
