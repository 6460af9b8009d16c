import { useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useDeferredValue, useMemo, useState } from "react";
import { Autocomplete } from "react-aria-components/Autocomplete";
import { Collection } from "react-aria-components/Collection";
import { Header } from "react-aria-components/Header";
import { Input } from "react-aria-components/Input";
import { Menu, MenuItem, MenuSection } from "react-aria-components/Menu";
import { TextField } from "react-aria-components/TextField";
import { flushSync } from "react-dom";
import { matrix } from "../../api/queries";
import type { Me } from "../../api/schema";
import { keyWords, useBindings } from "../keys";
import { PLACES } from "../places";
import { hereOf } from "./cells";
import { type Entry, type Group, offered } from "./entries";
import styles from "./palette.module.css";
import { pathOf } from "./pasted";
import { recentPlaces } from "./recent";
import { useNamed } from "./sources";

/**
 * React Aria writes a style sheet into the page unless something with this id is there. The page's policy allows none
 * but files; what it would say stands in ours.
 */
const NO_STYLE_SHEET = "react-aria-pressable-style";

/** One line to type into, and where that leads: arrows choose, Enter goes. */
export function Palette({ me, close }: { me: Me; close: () => void }) {
  const router = useRouter();
  const bindings = useBindings();
  const [typed, setTyped] = useState("");
  const meant = useDeferredValue(typed);
  const { named, isAsking, problem } = useNamed(me, typed);
  const [recent] = useState(() => recentPlaces(me.tenant).filter((one) => one.path !== globalThis.location.pathname));
  const { origin } = globalThis.location;
  const places = useMemo(() => PLACES.filter((one) => me.permissions.includes(one.needs)), [me]);
  const client = useQueryClient();
  const runSet = /^\/run-sets\/([^/]+)$/.exec(globalThis.location.pathname)?.[1];
  const here = runSet ? hereOf(client.getQueryData(matrix(runSet).queryKey)) : null;
  const groups = offered(meant, { recent, places, bindings, named, here, origin });
  const chosen = (entry: Entry) => {
    flushSync(close); // the focus is where it was before the entry does anything
    if (entry.to !== undefined) router.history.push(entry.to);
    else entry.run?.();
  };
  return (
    <Autocomplete inputValue={typed} onInputChange={setTyped}>
      <span id={NO_STYLE_SHEET} hidden />
      <TextField aria-label="Go to, or do" autoFocus className={styles.field}>
        <Input
          className={styles.input}
          placeholder="A name, an id, an address, what to do, or class:image_error profile:…"
        />
      </TextField>
      <Menu
        aria-label="Places and actions"
        className={styles.list}
        items={groups}
        renderEmptyState={() => <p className={styles.nothing}>{nothingFor(meant, origin, isAsking)}</p>}
      >
        {(group: Group) => section(group, chosen)}
      </Menu>
      {problem && (
        <p role="alert" className={styles.nothing}>
          Not everything is offered: {problem.message}
        </p>
      )}
    </Autocomplete>
  );
}

/** No component of its own: a menu's sections are known by the names that they are made with. */
function section(group: Group, chosen: (entry: Entry) => void) {
  return (
    <MenuSection id={group.name}>
      <Header className={styles.head}>{group.name}</Header>
      <Collection items={group.entries}>
        {(entry: Entry) => (
          <MenuItem id={entry.key} textValue={entry.name} className={styles.entry} onAction={() => chosen(entry)}>
            <span className={styles.name}>{entry.name}</span>
            {entry.note && <span className={styles.note}>{entry.note}</span>}
            {entry.keys && <kbd>{keyWords(entry.keys)}</kbd>}
          </MenuItem>
        )}
      </Collection>
    </MenuSection>
  );
}

function nothingFor(typed: string, origin: string, isAsking: boolean): string {
  if (pathOf(typed, origin) === null) return `That is an address of another server: this one is ${origin}.`;
  return isAsking ? "Asking the server…" : "Nothing here has that name or id.";
}
