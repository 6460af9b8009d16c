import { useQueryClient } from "@tanstack/react-query";
import { useRouterState } from "@tanstack/react-router";
import { Keyboard, LogOut, Monitor, Moon, Search, Sun } from "lucide-react";
import { useStanding } from "../api/live-context";
import type { Me } from "../api/schema";
import { signOut } from "../api/session";
import { prefer, type Theme, usePreferences } from "../design/preferences";
import { useNow } from "../parts/time";
import { PLACES } from "./places";
import styles from "./top-bar.module.css";

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const ICONS = { system: Monitor, light: Sun, dark: Moon };

/** Where one is, whose data it is, whether it is live. */
export function TopBar({ me, find, help }: { me: Me; find: () => void; help: () => void }) {
  const { theme, zone } = usePreferences();
  const client = useQueryClient();
  const Icon = ICONS[theme];
  return (
    <header className={styles.bar}>
      <Crumbs />
      <button
        type="button"
        onClick={find}
        aria-label="⌘K: find a page or a thing"
        title="Go to, or do, by name (⌘K or Ctrl K)"
      >
        <Search size={14} aria-hidden />
        <kbd className={styles.key}>⌘K</kbd>
      </button>
      <span className={styles.tenant} title={`${me.name}, ${me.role} of ${me.tenant_name}`}>
        {me.tenant_name}
      </span>
      <Socket />
      <button type="button" onClick={() => prefer({ zone: zone === "utc" ? "local" : "utc" })} title="Zone of times">
        {zone === "utc" ? "UTC" : "local"}
      </button>
      <button
        type="button"
        onClick={() => prefer({ theme: NEXT[theme] })}
        aria-label={`Theme: ${theme}`}
        title={`Theme: ${theme}`}
      >
        <Icon size={14} aria-hidden />
      </button>
      <button type="button" onClick={help} aria-label="Keys of this page" title="Keys of this page (?)">
        <Keyboard size={14} aria-hidden />
      </button>
      <button type="button" onClick={() => signOut(client)} aria-label="Sign out" title={`Sign out ${me.name}`}>
        <LogOut size={14} aria-hidden />
      </button>
    </header>
  );
}

function Crumbs() {
  const path = useRouterState({ select: (state) => state.location.pathname });
  const place = PLACES.find((one) => path === one.to || path.startsWith(`${one.to}/`));
  return (
    <span className={styles.crumbs}>{place?.name ?? (path.startsWith("/attempts/") ? "Attempt" : "Proctor")}</span>
  );
}

function Socket() {
  const standing = useStanding();
  const now = useNow(standing.state === "reconnecting" ? 1000 : null);
  if (standing.state === "connecting") return <span className={styles.socket} data-state="connecting" />;
  return (
    <span className={styles.socket} data-state={standing.state} role="status">
      {standing.state === "reconnecting"
        ? brokenWords(standing, now.getTime())
        : standing.state === "live"
          ? "live"
          : "not live"}
    </span>
  );
}

function brokenWords({ since, isPolling }: { since: number; isPolling: boolean }, now: number): string {
  const age = Math.max(0, Math.round((now - since) / 1000));
  return `reconnecting, ${isPolling ? "polling, " : ""}${age} s old`;
}
