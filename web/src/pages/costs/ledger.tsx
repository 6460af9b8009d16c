import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type EntriesQuery, entries } from "../../api/administration";
import type { SpendEntry } from "../../api/schema";
import { cost, duration, tokens, UNKNOWN } from "../../design/numbers";
import { ownerWords, words } from "../../design/outcomes";
import { Asked } from "../../parts/asked";
import { Chip } from "../../parts/glyph";
import { Pager } from "../../parts/pager";
import { Filtered, Section } from "../../parts/section";
import { Empty } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { Time } from "../../parts/time";
import { useKeys } from "../../shell/keys";
import { type CostsSearch, isNarrowed } from "./choices";
import { dayWords } from "./days";

const route = getRouteApi("/costs");
const DAY_MS = 86_400_000;

const COLUMNS: readonly Column<SpendEntry>[] = [
  { name: "When", cell: (one) => <Time at={one.at} /> },
  {
    name: "Attempt",
    cell: (one) =>
      one.attempt_id ? (
        <Link to="/attempts/$attempt" params={{ attempt: one.attempt_id }}>
          <code>{one.attempt_id.slice(0, 8)}</code>
        </Link>
      ) : (
        <span className="muted">no attempt</span>
      ),
  },
  { name: "Cost", kind: "number", cell: (one) => <Cost one={one} /> },
  { name: "Came to", cell: (one) => (one.outcome ? <Chip name={one.outcome} /> : "") },
  { name: "Run set", cell: (one) => one.run_set ?? "" },
  { name: "Profile", cell: (one) => one.profile },
  { name: "Model", cell: (one) => one.model },
  { name: "For", cell: (one) => words(one.kind) },
  {
    name: "Call",
    cell: (one) =>
      one.ended_as ? words(one.ended_as) + (one.http_status ? ` (HTTP ${one.http_status})` : "") : "the whole attempt",
  },
  { name: "In", kind: "number", cell: (one) => tokens(one.input_tokens) },
  { name: "Out", kind: "number", cell: (one) => tokens(one.output_tokens) },
  { name: "Took", kind: "number", cell: (one) => duration(one.seconds) },
];

function Cost({ one }: { one: SpendEntry }) {
  if (one.cost_nano !== null) return cost(one.cost_nano);
  const why = one.assumed_nano > 0 ? `budgets count ${cost(one.assumed_nano)}` : "budgets count nothing";
  return <span title={`Nobody knows what it cost; ${why}`}>{UNKNOWN}</span>;
}

/** What sums are made of: calls, and attempts without calls of ours, the newest first. */
export function Ledger({ since, nameOf }: { since: string; nameOf: (key: string | null) => string }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const asked = useQuery(entries({ ...narrowing(search, since), cursor: search.cursor }));
  const clear = () => navigate({ search: ({ by, days }) => ({ by, days }), resetScroll: false });
  useKeys(isNarrowed(search) ? [{ keys: "Escape", what: "Show all entries", run: clear }] : []);
  return (
    <Section title="Ledger" id="ledger">
      {isNarrowed(search) && <Filtered words={`filtered: ${filterWords(search, nameOf)}`} clear={clear} />}
      <Asked query={asked} what="entries">
        {({ items, next }) =>
          items.length === 0 ? (
            <Empty>{isNarrowed(search) ? "No entry is like that." : "Nothing was spent in this time."}</Empty>
          ) : (
            <>
              <Table caption="Entries, the newest first" columns={COLUMNS} rows={items} keyOf={(one) => one.id} />
              <Pager
                cursor={search.cursor}
                next={next}
                go={(cursor) => navigate({ search: (before) => ({ ...before, cursor }) })}
              />
            </>
          )
        }
      </Asked>
    </Section>
  );
}

/** The address's filters as the server takes them. */
export function narrowing(search: CostsSearch, since: string): EntriesQuery {
  const { by = "run_set", day, key, owner, unpriced } = search;
  const begins = day === undefined ? undefined : Date.parse(`${day}T00:00:00Z`);
  return {
    since: begins === undefined ? since : new Date(begins).toISOString(),
    until: begins === undefined ? undefined : new Date(begins + DAY_MS).toISOString(),
    ...(key !== undefined && by !== "tenant" ? { [by]: key } : {}),
    owner,
    ...(unpriced === undefined ? {} : { unpriced: true, model: unpriced }),
  };
}

function filterWords({ by = "run_set", day, key, owner, unpriced }: CostsSearch, nameOf: (key: string) => string) {
  return [
    day !== undefined && `${dayWords(new Date(`${day}T00:00:00Z`))} (UTC)`,
    key !== undefined && `${words(by)} ${nameOf(key)}`,
    owner !== undefined && `attempts without a verdict: ${ownerWords(owner)}`,
    unpriced !== undefined && `of unknown cost: ${unpriced || "no model named"}`,
  ]
    .filter((one) => one !== false)
    .join(", ");
}
