import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { LiveProvider } from "../api/live-context";
import { Problem } from "../api/problem";
import { me } from "../api/queries";
import type { Me } from "../api/schema";
import { SignIn } from "../pages/sign-in/sign-in";
import { Dialog } from "../parts/dialog";
import { Failed } from "../parts/states";
import { KeyHelp } from "./key-help";
import { listenForKeys, useKeys } from "./keys";
import { useRemembering } from "./palette/recent";
import { PLACES, type Place } from "./places";
import styles from "./shell.module.css";
import { TopBar } from "./top-bar";

const Palette = lazy(async () => ({ default: (await import("./palette/palette")).Palette }));

/** The frame of every page, or the way in. */
export function Shell() {
  const asked = useQuery(me);
  const wasIn = useRef(false);
  wasIn.current ||= asked.data !== undefined;
  useEffect(listenForKeys, []);
  if (asked.error instanceof Problem && asked.error.isUnauthenticated) return <SignIn isOver={wasIn.current} />;
  if (asked.error) return <Failed page="Proctor" error={asked.error} retry={() => asked.refetch()} />;
  if (asked.data === undefined) return <div className={styles.frame} />;
  return (
    <LiveProvider>
      <Frame me={asked.data} />
    </LiveProvider>
  );
}

function Frame({ me }: { me: Me }) {
  const places = PLACES.filter((place) => me.permissions.includes(place.needs));
  const [help, setHelp] = useState(false);
  const [palette, setPalette] = useState(false);
  const navigate = useNavigate();
  useRemembering(me.tenant);
  useKeys([
    ...places.map((place) => ({
      keys: `g ${place.key}`,
      what: `Go to ${place.name}`,
      run: () => void navigate({ to: place.to }),
    })),
    { keys: "Mod+k", what: "Go to, or do, by name", run: () => setPalette(true) },
    { keys: "?", what: "Keys of this page", run: () => setHelp(true) },
  ]);
  return (
    <div className={styles.frame}>
      <a className={styles.skip} href="#main">
        Skip to the page
      </a>
      <Rail places={places} />
      <div className={styles.right}>
        <TopBar me={me} find={() => setPalette(true)} help={() => setHelp(true)} />
        <main id="main" className={styles.main} tabIndex={-1}>
          <Outlet />
        </main>
      </div>
      {help && <KeyHelp close={() => setHelp(false)} />}
      {palette && (
        <Dialog title="Go to, or do" plain close={() => setPalette(false)}>
          <Suspense fallback={<p className="muted">…</p>}>
            <Palette me={me} close={() => setPalette(false)} />
          </Suspense>
        </Dialog>
      )}
    </div>
  );
}

function Rail({ places }: { places: readonly Place[] }) {
  const path = useRouterState({ select: (state) => state.location.pathname });
  return (
    <nav className={styles.rail} aria-label="Proctor">
      {places.map(({ name, to, icon: Icon, key }) => {
        const here = path === to || path.startsWith(`${to}/`);
        return (
          <Link
            key={to}
            to={to}
            className={styles.place}
            aria-current={here ? "page" : undefined}
            title={`${name} (g ${key})`}
          >
            <Icon size={16} aria-hidden />
            <span>{name}</span>
          </Link>
        );
      })}
    </nav>
  );
}
