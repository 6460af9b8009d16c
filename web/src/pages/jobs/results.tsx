import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { results, spreads } from "../../api/data";
import type { EvaluatorSummary, ListedResult } from "../../api/schema";
import { cost, duration, score } from "../../design/numbers";
import { words } from "../../design/outcomes";
import { Asked } from "../../parts/asked";
import { Pager } from "../../parts/pager";
import { Filtered, Section } from "../../parts/section";
import { Empty } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { useKeys } from "../../shell/keys";
import { countOf, countOfAll, ofWords } from "./counts";
import { filterOf } from "./search";

const route = getRouteApi("/jobs/$job");
const COLUMNS: readonly Column<ListedResult>[] = [
  { name: "Example", cell: (one) => one.example },
  { name: "Evaluator", cell: (one) => one.evaluator },
  { name: "Repeat", kind: "number", cell: (one) => one.repeat + 1 },
  { name: "Status", cell: (one) => words(one.status) },
  { name: "Score", kind: "number", cell: (one) => score(one.score) },
  { name: "Label", cell: (one) => one.label ?? "" },
  { name: "Error", cell: (one) => <span title={one.error ?? ""}>{one.error ?? ""}</span> },
  { name: "Took", kind: "number", cell: (one) => duration(one.seconds) },
  { name: "Cost", kind: "number", cell: (one) => cost(one.cost_nano) },
];

/** A filter in words; nothing of none. */
function wordsOf({ status, evaluator, at_least, below }: ReturnType<typeof filterOf>): string {
  return [
    status && `only ${words(status)}`,
    evaluator && `of ${evaluator}`,
    at_least !== undefined && `from ${score(at_least)}`,
    below !== undefined && `under ${score(below)}`,
  ]
    .filter(Boolean)
    .join(", ");
}

/** The results themselves, a page at a time. */
export function Results({ id, evaluators }: { id: string; evaluators: readonly EvaluatorSummary[] }) {
  const { cursor, ...search } = route.useSearch();
  const filter = filterOf(search);
  const said = wordsOf(filter);
  const navigate = useNavigate({ from: "/jobs/$job" });
  const clear = () => void navigate({ search: ({ by }) => ({ by }), resetScroll: false });
  useKeys(said ? [{ keys: "Escape", what: "Show all results", run: clear }] : []);
  const asked = useQuery(results(id, { ...filter, cursor }));
  const spread = useQuery(spreads(id));
  const page = asked.isPlaceholderData ? undefined : asked.data;
  const shown = cursor === undefined && page?.next === null ? page.items.length : null;
  const fit = countOf(filter, evaluators, spread.data?.items ?? []) ?? shown;
  return (
    <Section title="Results">
      {said && <Filtered words={`filtered: ${said}: ${ofWords(fit, countOfAll(evaluators))}`} clear={clear} />}
      <Asked query={asked} what="results">
        {({ items, next }) =>
          items.length === 0 ? (
            <Empty>{said ? "No result fits this filter." : "There is no result yet."}</Empty>
          ) : (
            <>
              <Table
                caption="Results"
                columns={COLUMNS}
                rows={items}
                keyOf={(one) => `${one.row} ${one.evaluator_version} ${one.repeat}`}
              />
              <Pager
                cursor={cursor}
                next={next}
                go={(to) => navigate({ search: (before) => ({ ...before, cursor: to }), resetScroll: false })}
                words={{ first: "First", next: "Next" }}
              />
            </>
          )
        }
      </Asked>
    </Section>
  );
}
