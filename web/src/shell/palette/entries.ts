/** What the palette offers for what is typed: groups of entries, what fits best first. */
import type { KeyBinding } from "../keys";
import type { Place } from "../places";
import { cellsMeant, type Here, namedHere } from "./cells";
import { idOf, pathOf } from "./pasted";
import type { RecentPlace } from "./recent";

export interface Entry {
  /** Its own among all. */
  key: string;
  name: string;
  /** What else it is found by and told apart by. */
  note?: string;
  /** Found by, without being shown. */
  id?: string;
  /** The keys that do the same. */
  keys?: string;
  /** Where it leads to, or what it does. */
  to?: string;
  run?: () => void;
}

export interface Group {
  name: string;
  entries: readonly Entry[];
}

/** Everything that can be offered, from this page, this browser and the server. */
export interface Known {
  recent: readonly RecentPlace[];
  places: readonly Place[];
  bindings: readonly KeyBinding[];
  /** Named things of the server, as far as they have come. */
  named: readonly Group[];
  /** The run set of the page, if it is one's. */
  here?: Here | null;
  origin: string;
}

/** So many of a group are offered: who wants another types on. */
const SHOWN = 8;

export function offered(typed: string, known: Known): Group[] {
  const words = typed.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const pages = { name: "Pages", entries: known.places.map(pageEntry) };
  const actions = { name: "This page", entries: actionsOf(known.bindings) };
  const recent = { name: "Recent", entries: known.recent.map(recentEntry) };
  if (words.length === 0) return [recent, actions, pages].filter((group) => group.entries.length > 0);
  const pasted = pastedEntries(typed, known);
  const here = known.here ?? null;
  const others = known.named
    .find((group) => group.name === "Run sets")
    ?.entries.flatMap(({ id, name }) => (id ? { id, name } : []));
  const cells = { name: "Cells", entries: cellsMeant(typed, here, others ?? []) };
  if (cells.entries.length > 0) return [cells];
  const groups = [pages, actions, recent, ...(here ? namedHere(here) : []), ...known.named].map((group) => ({
    ...group,
    entries: best(group, words),
  }));
  return [{ name: "Pasted", entries: pasted }, ...groups].filter((group) => group.entries.length > 0);
}

function recentEntry({ what, which, path }: RecentPlace): Entry {
  return { key: `recent ${path}`, name: which, note: what, to: path };
}

function pageEntry({ name, to, key }: Place): Entry {
  return { key: `page ${to}`, name, keys: `g ${key}`, to };
}

/** What the keys of this page do. Going to pages and this palette itself are no actions of a page. */
function actionsOf(bindings: readonly KeyBinding[]): Entry[] {
  return bindings
    .filter(({ keys }) => !keys.startsWith("g ") && keys !== "Mod+k")
    .map(({ keys, what, run }) => ({ key: `action ${keys}`, name: what, keys, run }));
}

/** Those in which every word occurs: first where a name begins with what is typed. */
function best({ entries }: Group, words: readonly string[]): Entry[] {
  const typed = words.join(" ");
  const found = entries.filter((one) => {
    const text = `${one.name} ${one.note ?? ""} ${one.id ?? ""}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const rank = (one: Entry) => {
    const name = one.name.toLowerCase();
    return name.startsWith(typed) ? 0 : name.includes(typed) ? 1 : 2;
  };
  return found.sort((one, other) => rank(one) - rank(other)).slice(0, SHOWN);
}

function pastedEntries(typed: string, known: Known): Entry[] {
  const path = pathOf(typed, known.origin);
  if (path) return [{ key: "pasted", name: path, note: "address of this server", to: path }];
  const id = idOf(typed);
  if (id === undefined || known.named.some((group) => group.entries.some((one) => one.id?.startsWith(id)))) return [];
  return [
    { key: "pasted attempt", name: `Attempt ${id}`, to: `/attempts/${id}` },
    { key: "pasted run set", name: `Run set ${id}`, to: `/run-sets/${id}` },
  ];
}
