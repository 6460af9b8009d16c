import { useQueries, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { acknowledgements, backups, COUNTED_MS, objective } from "../../api/administration";
import { useMay } from "../../api/permitted";
import { runSet, runSets } from "../../api/queries";
import { counted } from "../../design/numbers";
import { usePreferences } from "../../design/preferences";
import { Copy } from "../../parts/copy";
import { Section } from "../../parts/section";
import { Failed, Loading } from "../../parts/states";
import { Told } from "../../parts/told";
import { Acknowledge, TakeBack, WhoSaw } from "./acknowledging";
import styles from "./health.module.css";
import { apart, type Held, heldBack, type Need, needsOf, type Seen } from "./needs";
import type { Sample } from "./prometheus";
import { burning, unaudited } from "./promises";

const route = getRouteApi("/health");
/** How many run sets of a state are looked into, the newest first: a status each. */
const LOOKED_INTO = 12;
const HELD_STATES = ["running", "paused", "complete_with_gaps"] as const;

/** What needs somebody; below it what somebody has seen, which counts again when its time is over. */
export function WhatNeedsYou({ samples, isPending }: { samples: readonly Sample[]; isPending: boolean }) {
  const { zone } = usePreferences();
  const { held, isPending: isHeldPending } = useHeld();
  const told = useQuery(acknowledgements);
  const promised = usePromised();
  if (isPending || isHeldPending || told.isPending || promised.isPending) {
    return (
      <Section title="What needs you">
        <Loading what="what needs you" rows={1} />
      </Section>
    );
  }
  const own = held.reduce((cells, one) => cells + one.progress.dead, 0);
  const needs = [...needsOf(samples, own), ...promised.needs, ...heldBack(held, zone)];
  const { open, seen } = apart(needs, told.data?.items ?? []);
  const title = `${counted(open.length, "thing needs", "things need")} you`;
  return (
    <Section title={open.length === 0 ? "Nothing needs you" : title}>
      {told.error && <Failed error={told.error} retry={() => told.refetch()} />}
      {promised.failed && <Failed error={promised.failed.error} retry={() => promised.failed?.refetch()} />}
      <Needs open={open} seen={seen} />
    </Section>
  );
}

function Needs({ open, seen }: { open: readonly Need[]; seen: readonly Seen[] }) {
  const may = useMay("runs:write");
  const moved = useRef<string | null>(null);
  return (
    <>
      <ul>
        {open.map((need) => (
          <li key={need.key} className={styles.need}>
            <What need={need} />
            {may && <Acknowledge need={need} moved={moved} />}
          </li>
        ))}
      </ul>
      {seen.length > 0 && (
        <>
          <h3>Acknowledged</h3>
          <ul className="muted" aria-label="Acknowledged">
            {seen.map(({ need, by }) => (
              <li key={need.key} className={`${styles.need} ${styles.seen}`}>
                <What need={need} />
                <WhoSaw by={by} />
                {may && <TakeBack need={need} moved={moved} />}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function What({ need }: { need: Need }) {
  const may = useMay("runs:write");
  return (
    <span>
      {need.what}
      {may && need.remedy && (
        <>
          : <Told text={need.remedy} />
        </>
      )}
      {need.to && (
        <>
          {" · "}
          <Link to={need.to}>{need.show}</Link>
        </>
      )}
      {need.command && (
        <span className={styles.command}>
          <code>{need.command}</code>
          <Copy text={() => need.command ?? ""} title={`Copy: ${need.command}`}>
            Copy
          </Copy>
        </span>
      )}
    </span>
  );
}

/** What the installation promises of itself and does not keep, for its administrators. */
function usePromised() {
  const { range = "1h" } = route.useSearch();
  const enabled = useMay("platform");
  const burn = useQuery({ ...objective(range), enabled });
  const kept = useQuery({ ...backups, enabled });
  return {
    needs: [...(burn.data ? burning(burn.data) : []), ...(kept.data ? unaudited(kept.data) : [])],
    isPending: burn.isLoading || kept.isLoading,
    failed: [burn, kept].find((one) => one.error),
  };
}

/** The tenant's run sets that are not through. Pending is only the first time: one that comes later takes nothing away. */
function useHeld(): { held: Held[]; isPending: boolean } {
  const lists = useQueries({
    queries: HELD_STATES.map((state) => ({ ...runSets({ state }), refetchInterval: COUNTED_MS })),
  });
  const rows = lists.flatMap((one) => one.data?.items.slice(0, LOOKED_INTO) ?? []);
  const told = useQueries({ queries: rows.map((row) => ({ ...runSet(row.id), refetchInterval: COUNTED_MS })) });
  const held = rows.flatMap((row, at) => {
    const progress = told[at]?.data?.progress;
    return progress === undefined ? [] : [{ row, progress }];
  });
  const [isKnown, setKnown] = useState(false);
  const isPending = [...lists, ...told].some((one) => one.isPending);
  if (!isPending && !isKnown) setKnown(true);
  return { held, isPending: isPending && !isKnown };
}
