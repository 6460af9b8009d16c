/** Cells by what is typed of them, `class:image_error profile:sonnet`, and the profiles and tasks of the page's run set. */
import type { Matrix } from "../../api/schema";
import { CLASSES, OWNERS, ownerOf, ownerWords, words } from "../../design/outcomes";
import type { Entry, Group } from "./entries";

/** A run set that cells can be asked of. */
export interface OfRunSet {
  id: string;
  name: string;
}

/** The run set of the page, with what its cells are of. */
export interface Here extends OfRunSet {
  profiles: readonly string[];
  tasks: readonly string[];
}

const FIELDS = ["class", "owner", "profile", "model", "task"] as const;
type Field = (typeof FIELDS)[number];
/** Of run sets that the page is not of. */
const OTHERS = 5;

/** What `field:value` words say; nothing where there is none, or one of them means nothing. */
export function asked(typed: string): Partial<Record<Field, string>> | null {
  const said = typed.trim().split(/\s+/).filter(Boolean);
  const found: Partial<Record<Field, string>> = {};
  for (const word of said) {
    const [field = "", ...rest] = word.split(":");
    const value = rest.join(":");
    if (!isField(field) || value === "") return null;
    found[field] = value;
  }
  return said.length > 0 ? found : null;
}

function isField(word: string): word is Field {
  return (FIELDS as readonly string[]).includes(word);
}

/** The classes that are meant: one by its beginning, or all that an owner answers for. */
function classesOf({ class: named, owner }: Partial<Record<Field, string>>): string[] | null {
  const whose =
    owner && OWNERS.find((one) => [one, ownerWords(one)].some((name) => name.startsWith(owner.toLowerCase())));
  if (owner && !whose) return null;
  const found = CLASSES.filter(
    (one) => (!named || one.startsWith(named.toLowerCase().replaceAll("-", "_"))) && (!whose || ownerOf(one) === whose),
  );
  return named || owner ? (found.length > 0 ? found : null) : [];
}

/** The page's run set first, then the newest others. */
export function cellsMeant(typed: string, here: Here | null, others: readonly OfRunSet[]): Entry[] {
  const said = asked(typed);
  const classes = said && classesOf(said);
  if (!said || !classes) return [];
  const rest = others.filter((one) => one.id !== here?.id).slice(0, OTHERS);
  return [...(here ? [here] : []), ...rest].flatMap((one) => {
    const profile = profileOf(said.profile ?? said.model, one === here ? here : null);
    if (profile === null) return [];
    const search = new URLSearchParams();
    if (classes.length > 0) search.set("class", classes.join(","));
    if (profile) search.set("profile", profile);
    if (said.task) search.set("task", said.task);
    const told = [classes.map(words).join(", "), profile, said.task].filter(Boolean).join(" · ");
    return [
      { key: `cells ${one.id}`, name: `${one.name}: ${told}`, note: "cells", to: `/run-sets/${one.id}?${search}` },
    ];
  });
}

/** Of the page's run set the profile that has this in its name; of another as it was typed. `null`: there is none. */
function profileOf(typed: string | undefined, here: Here | null): string | null | undefined {
  if (typed === undefined || here === null) return typed;
  return here.profiles.find((one) => one === typed) ?? here.profiles.find((one) => one.includes(typed)) ?? null;
}

/** Each profile and task of the page's run set leads to its cells. */
export function namedHere(here: Here): Group[] {
  const to = (field: "profile" | "task", name: string) =>
    `/run-sets/${here.id}?${new URLSearchParams({ [field]: name })}`;
  const entry = (field: "profile" | "task") => (name: string) => ({
    key: `${field} ${name}`,
    name,
    note: `${field} of ${here.name}`,
    to: to(field, name),
  });
  return [
    { name: "Profiles", entries: here.profiles.map(entry("profile")) },
    { name: "Tasks", entries: here.tasks.map(entry("task")) },
  ];
}

/** The run set of an address, as far as its cells have come. */
export function hereOf(document: Matrix | undefined): Here | null {
  if (document === undefined) return null;
  const { run_set: row, profiles, tasks } = document;
  return { id: row.id, name: row.name, profiles, tasks: tasks.map((one) => one.name) };
}
