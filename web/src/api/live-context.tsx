import { useQueryClient } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useRef, useSyncExternalStore } from "react";
import { Live, type Reader, type Standing, socketUrl } from "./live";
import { me } from "./queries";

const Context = createContext<Live | null>(null);

/** The page's one socket, for everything below. */
export function LiveProvider({ children }: { children: React.ReactNode }) {
  const live = useRef<Live | null>(null);
  live.current ??= new Live(socketUrl());
  useAskedAgain(live.current);
  useAges(live.current);
  return <Context.Provider value={live.current}>{children}</Context.Provider>;
}

/** Where the socket is not let in, whether one is still is asked; once it is back, whatever could not be had meanwhile. */
function useAskedAgain(live: Live): void {
  const client = useQueryClient();
  useEffect(() => {
    let before = live.standing.state;
    return live.watch(() => {
      const { state } = live.standing;
      if (state === "refused") void client.resetQueries({ queryKey: me.queryKey });
      if (state === "live" && before === "reconnecting")
        void client.refetchQueries({ type: "active", predicate: (query) => query.state.status === "error" });
      before = state;
    });
  }, [live, client]);
}

/** While the socket is broken, what is shown is as old as the last answer. */
function useAges(live: Live): void {
  const client = useQueryClient();
  useEffect(
    () =>
      client.getQueryCache().subscribe((event) => {
        if (event.type === "updated" && event.action.type === "success") live.answered();
      }),
    [live, client],
  );
}

function useSocket(): Live {
  const live = useContext(Context);
  if (live === null) throw new Error("There is no LiveProvider above.");
  return live;
}

/** Whether what is on the page is as it is now. */
export function useStanding(): Standing {
  const live = useSocket();
  return useSyncExternalStore(
    (listener) => live.watch(listener),
    () => live.standing,
  );
}

/**
 * Be called for each event of a topic, and for whatever else a reader is told, while mounted. `after`: go on after that
 * event; `null` as long as it is not known, and nothing is followed.
 */
export function useLive(topic: string, after: string | null | undefined, reader: Reader) {
  const live = useSocket();
  const current = useRef(reader);
  current.current = reader;
  const polls = reader.poll !== undefined;
  useEffect(() => {
    if (after === null) return;
    return live.follow(
      topic,
      {
        event: (event) => current.current.event(event),
        gap: () => current.current.gap(),
        joined: () => current.current.joined?.(),
        ...(polls && { poll: () => current.current.poll?.() }),
      },
      after ?? null,
    );
  }, [live, topic, after, polls]);
}
