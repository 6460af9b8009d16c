import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { allowance, ledger, usage } from "../../api/administration";
import { download } from "../../api/files";
import { useMay } from "../../api/permitted";
import type { Allowance, Apart, CallRow, UsageRow } from "../../api/schema";
import { bytes, cost, count, counted, duration, percent, tokens, UNKNOWN } from "../../design/numbers";
import { words } from "../../design/outcomes";
import { Asked } from "../../parts/asked";
import { Button } from "../../parts/button";
import { Select } from "../../parts/field";
import { Pager } from "../../parts/pager";
import { PageHead, Section } from "../../parts/section";
import { Empty } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { Time } from "../../parts/time";
import { useTitle } from "../../parts/title";
import { BudgetDialog } from "./budget";
import { APART, DAYS } from "./choices";
import styles from "./costs.module.css";

const route = getRouteApi("/costs");

/** What was spent, by whom and for what, down to each call. */
export function CostsPage() {
  useTitle("Costs");
  const { by = "run_set", days = 30 } = route.useSearch();
  const navigate = route.useNavigate();
  const [since] = useState(() => Date.now());
  const from = new Date(Math.floor(since / 60_000) * 60_000 - days * 86_400_000).toISOString();
  const mayBudget = useMay("tenant:write");
  const may = useQuery(allowance);
  const used = useQuery(usage(by, from));
  const exported = useMutation({
    mutationFn: () =>
      download(`/api/v1/usage?${new URLSearchParams({ by, since: from, as_csv: "true" })}`, `usage-by-${by}.csv`),
  });
  const [asks, setAsks] = useState(false);
  return (
    <>
      <PageHead
        title="Costs and quotas"
        tools={
          <>
            {exported.error && <span role="alert">{exported.error.message}</span>}
            <Button onClick={() => exported.mutate()} disabled={exported.isPending}>
              Export CSV
            </Button>
            {mayBudget && (
              <Button kind="primary" onClick={() => setAsks(true)} disabled={may.data === undefined}>
                Set budget
              </Button>
            )}
          </>
        }
      />
      <div className={styles.month}>
        <Asked query={may} what="quotas" rows={2}>
          {(allowed) => <Month allowance={allowed} />}
        </Asked>
      </div>
      <Section
        title="Spend"
        tools={
          <>
            <Select
              label="By"
              value={by}
              options={APART.map((one) => ({ value: one, label: words(one) }))}
              onChange={(event) => navigate({ search: (before) => ({ ...before, by: event.target.value as Apart }) })}
            />
            <Select
              label="Over"
              value={String(days)}
              options={DAYS.map((one) => ({ value: String(one), label: counted(one, "day") }))}
              onChange={(event) => navigate({ search: (before) => ({ ...before, days: Number(event.target.value) }) })}
            />
          </>
        }
      >
        <Asked query={used} what="spend">
          {({ rows }) =>
            rows.length === 0 ? <Empty>Nothing was attempted in this time.</Empty> : <Spend rows={rows} by={by} />
          }
        </Asked>
      </Section>
      {used.isFetched && <Ledger />}
      {asks && may.data && (
        <BudgetDialog month={may.data.quota.budget_month_nano ?? null} close={() => setAsks(false)} />
      )}
    </>
  );
}

function Month({ allowance: { quota, used, stored_bytes: stored, over } }: { allowance: Allowance }) {
  return (
    <>
      <dl className={styles.quotas}>
        <Of
          name="This month"
          used={used.cost_month_nano}
          most={quota.budget_month_nano ?? quota.cost_month_nano}
          write={cost}
          headline
        />
        <Of
          name="Evaluations today"
          used={used.evaluations_today}
          most={quota.evaluations_per_day}
          write={(value) => count(value ?? 0)}
        />
        <Of name="Sandboxes now" used={used.sandboxes} most={quota.sandboxes} write={(value) => count(value ?? 0)} />
        <Of name="Stored" used={stored ?? null} most={quota.storage_bytes} write={bytes} />
      </dl>
      {over.length > 0 && (
        <p className={styles.over} role="status">
          Over {over.map(words).join(", ")}: this tenant's work is served after the others'.
        </p>
      )}
    </>
  );
}

interface OfProps {
  name: string;
  used: number | null;
  most: number | null | undefined;
  write: (value: number | null) => string;
  headline?: boolean;
}

function Of({ name, used, most, write, headline }: OfProps) {
  const share = used !== null && most ? Math.min(1, used / most) : 0;
  return (
    <div data-headline={headline ? "" : undefined}>
      <dt>{name}</dt>
      <dd>
        <b>{used === null ? UNKNOWN : write(used)}</b>{" "}
        <span className="muted">{most == null ? "no limit" : `of ${write(most)}`}</span>
        {most != null && (
          <span className={styles.meter} role="img" aria-label={`${percent(share)} of ${write(most)} used`}>
            <span style={{ width: `${share * 100}%` }} />
          </span>
        )}
      </dd>
    </div>
  );
}

function Spend({ rows, by }: { rows: readonly UsageRow[]; by: Apart }) {
  const most = Math.max(...rows.map((one) => one.cost_nano), 1);
  const priced = (one: UsageRow) => (one.attempts ? 1 - one.unpriced / one.attempts : null);
  const columns: readonly Column<UsageRow>[] = [
    {
      name: words(by),
      cell: (one) =>
        by === "run_set" ? (
          <Link to="/run-sets/$runSet" params={{ runSet: one.key }}>
            {one.name}
          </Link>
        ) : (
          one.name || one.key
        ),
    },
    {
      name: "Share",
      cell: (one) => (
        <span className={styles.bar}>
          <span style={{ width: `${(one.cost_nano / most) * 100}%` }} />
        </span>
      ),
    },
    {
      name: "Cost",
      kind: "number",
      cell: (one) => (one.attempts > 0 && one.unpriced === one.attempts ? UNKNOWN : cost(one.cost_nano, priced(one))),
    },
    {
      name: "Usage",
      meaning: "Attempts that said what they cost",
      kind: "number",
      cell: (one) => percent(priced(one)),
    },
    { name: "Attempts", kind: "number", cell: (one) => count(one.attempts) },
    { name: "Sandbox time", kind: "number", cell: (one) => duration(one.sandbox_sec) },
  ];
  return (
    <Table
      caption={`Spend by ${words(by)}, the dearest first`}
      columns={columns}
      rows={rows}
      keyOf={(one) => one.key}
    />
  );
}

const CALLS: readonly Column<CallRow>[] = [
  { name: "When", cell: (one) => <Time at={one.started_at} /> },
  { name: "Model", cell: (one) => one.model },
  { name: "Answered", cell: (one) => one.answered },
  { name: "Ended as", cell: (one) => words(one.ended_as) + (one.http_status ? ` (HTTP ${one.http_status})` : "") },
  { name: "In", kind: "number", cell: (one) => tokens(one.input_tokens) },
  { name: "Out", kind: "number", cell: (one) => tokens(one.output_tokens) },
  { name: "Cost", kind: "number", cell: (one) => cost(one.cost_nano) },
  { name: "Took", kind: "number", cell: (one) => duration(one.seconds) },
  {
    name: "Attempt",
    cell: (one) =>
      one.attempt_id ? (
        <Link to="/attempts/$attempt" params={{ attempt: one.attempt_id }}>
          <code>{one.attempt_id.slice(0, 8)}</code>
        </Link>
      ) : (
        words(one.purpose)
      ),
  },
];

function Ledger() {
  const { cursor } = route.useSearch();
  const navigate = route.useNavigate();
  const asked = useQuery(ledger({ cursor }));
  return (
    <Section title="Calls of models">
      <Asked query={asked} what="calls">
        {({ items, next }) =>
          items.length === 0 ? (
            <Empty>No model was called through the gateway yet.</Empty>
          ) : (
            <>
              <Table caption="Calls, the newest first" columns={CALLS} rows={items} keyOf={(one) => one.id} />
              <Pager
                cursor={cursor}
                next={next}
                go={(to) => navigate({ search: (before) => ({ ...before, cursor: to }) })}
              />
            </>
          )
        }
      </Asked>
    </Section>
  );
}
