import { getRouteApi, Link } from "@tanstack/react-router";
import type { SpendReport, SpendRow } from "../../api/schema";
import { count, percent } from "../../design/numbers";
import { words } from "../../design/outcomes";
import { Figure } from "../../parts/figure";
import { type Column, Table } from "../../parts/table";
import { OF_ALL } from "./choices";
import { address } from "./costs";
import bars from "./day-bars.module.css";
import { known, placeOf, shownKeys, spent, spentWords } from "./days";

const route = getRouteApi("/costs");

/** What the bars' colours mean, and what each key cost over all days: the bars' twin as rows. */
export function Keys({ report, nameOf }: { report: SpendReport; nameOf: (key: string | null) => string }) {
  const { days } = route.useSearch();
  const { by, whole } = report;
  const shown = shownKeys(report);
  const columns: readonly Column<SpendRow>[] = [
    {
      name: words(by),
      cell: (one) => (
        <>
          <span
            className={bars.swatch}
            data-place={placeOf(report, one.key)}
            data-other={shown.includes(one.key) ? undefined : ""}
          />
          {by === "run_set" && one.key ? (
            <Link to="/run-sets/$runSet" params={{ runSet: one.key }}>
              {nameOf(one.key)}
            </Link>
          ) : (
            nameOf(one.key)
          )}
        </>
      ),
    },
    {
      name: "Cost",
      kind: "number",
      cell: (one) =>
        by === OF_ALL ? (
          spent(one)
        ) : (
          <Figure to={address({ by, days, key: one.key })} of={`entries of ${nameOf(one.key)}`}>
            {spent(one)}
          </Figure>
        ),
    },
    {
      name: "Share",
      meaning: "Of what is known of all costs",
      kind: "number",
      cell: (one) =>
        percent(whole.cost_nano > 0 && one.unpriced < one.entries ? one.cost_nano / whole.cost_nano : null),
    },
    { name: "Usage", meaning: "Entries whose cost is known", kind: "number", cell: (one) => percent(known(one)) },
    {
      name: "Entries",
      meaning: "Calls of models, and attempts none of whose calls came by this server",
      kind: "number",
      cell: (one) => count(one.entries),
    },
  ];
  return (
    <>
      <p className="data">
        <b>{spentWords(whole)}</b> <span className="muted">in {count(whole.entries)} entries</span>
        {whole.unpriced > 0 && (
          <span className="muted"> · a dotted top: more than is drawn, since some is unknown</span>
        )}
      </p>
      <Table
        caption={`Spend by ${words(by)}, the dearest first`}
        columns={columns}
        rows={report.rows}
        keyOf={(one) => one.key}
      />
    </>
  );
}
