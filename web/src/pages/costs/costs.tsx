import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { allowance, spend } from "../../api/administration";
import { download } from "../../api/files";
import { useMay } from "../../api/permitted";
import type { SpendBy, SpendReport, Unpriced } from "../../api/schema";
import { counted } from "../../design/numbers";
import { words } from "../../design/outcomes";
import { Asked } from "../../parts/asked";
import { Button } from "../../parts/button";
import { Select } from "../../parts/field";
import { Figure } from "../../parts/figure";
import { Permitted } from "../../parts/permitted";
import { PageHead, Section, Settling } from "../../parts/section";
import { Empty } from "../../parts/states";
import { useTitle } from "../../parts/title";
import { Attempts } from "./attempts";
import { BudgetDialog } from "./budget";
import { APART, type CostsSearch, DAYS, OF_ALL } from "./choices";
import styles from "./costs.module.css";
import { DayBars } from "./day-bars";
import { height, midnight } from "./days";
import { Keys } from "./keys";
import { Ledger } from "./ledger";
import { MonthSoFar } from "./month";
import { WithoutVerdict } from "./undecided";

const route = getRouteApi("/costs");

const TITLE = "Costs and quotas";

export function CostsPage() {
  useTitle("Costs");
  return (
    <Permitted needs="usage:read" title={TITLE}>
      <Costs />
    </Permitted>
  );
}

/** What was spent, by whom and for what, down to each call. */
function Costs() {
  const { by = "run_set", days = 30 } = route.useSearch();
  const [opened] = useState(() => Date.now());
  const since = midnight(opened, days - 1).toISOString();
  const mayBudget = useMay("tenant:write");
  const may = useQuery(allowance);
  const asked = useQuery(spend(by, since));
  const nameOf = useNames(asked.data);
  const [asks, setAsks] = useState(false);
  return (
    <Settling>
      <PageHead
        title={TITLE}
        tools={
          <>
            <Export by={by} since={since} />
            {mayBudget && (
              <Button kind="primary" onClick={() => setAsks(true)} disabled={may.data === undefined}>
                Set budget
              </Button>
            )}
          </>
        }
      />
      <Settling className={styles.month}>
        <Asked query={may} what="quotas" rows={5}>
          {(allowed) => <MonthSoFar allowance={allowed} />}
        </Asked>
      </Settling>
      <Section title="Spend by day of UTC" tools={<Choices by={by} days={days} />}>
        <Asked query={asked} what="spend" rows={12}>
          {(report) =>
            report.whole.entries === 0 ? (
              <Empty>Nothing was spent in this time.</Empty>
            ) : (
              <>
                {report.days.some((one) => height(one) > 0) ? (
                  <DayBars report={report} nameOf={nameOf} linked={by !== OF_ALL} />
                ) : (
                  <p className="muted data">What has a price cost nothing in this time.</p>
                )}
                <Keys report={report} nameOf={nameOf} />
                <NotPriced unpriced={report.unpriced} linked={by !== OF_ALL} />
              </>
            )
          }
        </Asked>
      </Section>
      {asked.isFetched && (
        <>
          <WithoutVerdict
            since={since}
            address={(owner) => address({ by, days, owner: owner as CostsSearch["owner"] })}
          />
          <Ledger since={since} nameOf={nameOf} />
          <Attempts by={by} since={since} />
        </>
      )}
      {asks && may.data && (
        <BudgetDialog month={may.data.quota.budget_month_nano ?? null} close={() => setAsks(false)} />
      )}
    </Settling>
  );
}

/** This page narrowed, as an address. */
export function address(search: CostsSearch): string {
  const said = Object.entries(search).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return `/costs?${new URLSearchParams(said)}#ledger`;
}

/** What a key is called; a key that is empty is of those that have none. */
function useNames(report: SpendReport | undefined): (key: string | null) => string {
  return useMemo(() => {
    const names = new Map(report?.rows.map((one) => [one.key, one.name]));
    return (key) => {
      if (key === null) return "all others";
      return names.get(key) || key || `no ${words(report?.by ?? "run_set")}`;
    };
  }, [report]);
}

function Choices({ by, days }: { by: SpendBy; days: number }) {
  const navigate = route.useNavigate();
  const isAdministrator = useMay("platform");
  const apart = isAdministrator ? [...APART, OF_ALL] : APART;
  return (
    <>
      <Select
        label="By"
        value={by}
        options={apart.map((one) => ({ value: one, label: words(one) }))}
        onChange={(event) => navigate({ search: { by: event.target.value as SpendBy, days }, resetScroll: false })}
      />
      <Select
        label="Over"
        value={String(days)}
        options={DAYS.map((one) => ({ value: String(one), label: counted(one, "day") }))}
        onChange={(event) => navigate({ search: { by, days: Number(event.target.value) }, resetScroll: false })}
      />
    </>
  );
}

function Export({ by, since }: { by: SpendBy; since: string }) {
  const path = by === OF_ALL ? "/api/v1/tenants/spend" : "/api/v1/spend";
  const asked = new URLSearchParams({ since, as_csv: "true" });
  if (by !== OF_ALL) asked.set("by", by);
  const exported = useMutation({
    mutationFn: () => download(`${path}?${asked}`, `spend-by-${by}.csv`),
  });
  return (
    <>
      {exported.error && <span role="alert">{exported.error.message}</span>}
      <Button onClick={() => exported.mutate()} disabled={exported.isPending}>
        Export CSV
      </Button>
    </>
  );
}

/** Providers and models whose prices nobody knows: named, and never priced 0. */
function NotPriced({ unpriced, linked }: { unpriced: readonly Unpriced[]; linked: boolean }) {
  const { by, days } = route.useSearch();
  if (unpriced.length === 0) return null;
  return (
    <p className={styles.unpriced}>
      <b>Not in these sums</b>, since there is no price for it or no usage was told:{" "}
      {unpriced.map((one, at) => {
        const said = `${counted(one.entries, "entry", "entries")} of ${one.model || one.provider || "no named model"}`;
        return (
          <span key={one.model || one.provider}>
            {at > 0 && ", "}
            {linked ? (
              <Figure to={address({ by, days, unpriced: one.model })} of={`entries of unknown cost: ${one.model}`}>
                {said}
              </Figure>
            ) : (
              said
            )}
          </span>
        );
      })}
      .
    </p>
  );
}
