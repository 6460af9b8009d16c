/** Outcome classes: whose they are, how they look, in which order they stand. */
import tokens from "../../../src/proctor/reports/html/tokens.json";

export interface Look {
  group: string;
  glyph: string;
  /** Drawn as an outline: somebody's decision or nothing at all, not an event. */
  hollow: boolean;
}

export const OWNERS = ["model", "task", "provider", "infrastructure", "policy", "user", "nobody"] as const;
export type Owner = (typeof OWNERS)[number];

const SAID: Record<string, { group: string; glyph: string; hollow?: boolean }> = {
  ...tokens.outcomes,
  ...tokens.absent,
};
export const CLASSES: readonly string[] = Object.keys(tokens.outcomes);

const OWNER_OF_GROUP: Record<string, Owner> = { passed: "model" };
const OWNER_WORDS: Record<Owner, string> = {
  model: "model",
  task: "task",
  provider: "provider",
  infrastructure: "infrastructure",
  policy: "by policy",
  user: "operator",
  nobody: "nobody",
};

/** How a class looks; one that this version does not know looks like an unclassified one. */
export function lookOf(name: string): Look {
  const said = SAID[name] ?? (SAID.unclassified as { group: string; glyph: string; hollow?: boolean });
  return { group: said.group, glyph: said.glyph, hollow: said.hollow ?? false };
}

/** The class whose tokens a class is drawn with. */
export function tokenOf(name: string): string {
  return name in SAID ? name : "unclassified";
}

export function ownerOf(name: string): Owner {
  const group = lookOf(name).group;
  return OWNER_OF_GROUP[group] ?? (group as Owner);
}

export function ownerWords(owner: Owner): string {
  return OWNER_WORDS[owner];
}

/** Verdicts first, then what is owed; by owner, then by class. */
export function order(one: string, other: string): number {
  return place(one) - place(other);
}

function place(name: string): number {
  const at = CLASSES.indexOf(name);
  return at < 0 ? CLASSES.length : at;
}

/** A class in words: `provider rate limit`. */
export function words(name: string): string {
  return name.replaceAll("_", " ");
}
