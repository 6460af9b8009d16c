import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { segments } from "../../api/data";
import type { Segments } from "../../api/schema";
import { count, mean, pValue, range, UNKNOWN } from "../../design/numbers";
import { Asked } from "../../parts/asked";
import { Select } from "../../parts/field";
import { Section } from "../../parts/section";
import { type Column, Table } from "../../parts/table";
import { BY } from "./search";

const route = getRouteApi("/jobs/$job");
type Part = Segments["parts"][number];

const COLUMNS: readonly Column<Part>[] = [
  { name: "Label", cell: (one) => one.label },
  { name: "Mean", kind: "number", cell: (one) => mean(one.average.mean) },
  {
    name: "95 %",
    kind: "number",
    cell: ({ average }) => range(average.interval),
  },
  { name: "n", kind: "number", cell: (one) => count(one.average.items) },
  { name: "Against the rest", kind: "number", cell: (one) => signed(one.difference) },
  {
    name: "Its 95 %",
    meaning: "Of the difference; none where too few examples tell of it",
    kind: "number",
    cell: ({ interval }) => (interval ? `${signed(interval.low)} to ${signed(interval.high)}` : UNKNOWN),
  },
  { name: "p, adjusted", meaning: "Holm, over the labels", kind: "number", cell: (one) => pValue(one.p_adjusted) },
];

function isUntold({ average, difference, interval }: Part): boolean {
  return average.interval === null || difference === null || interval === null;
}

/** A difference of scores, with its sign. */
function signed(value: number | null): string {
  if (value === null || value === 0) return mean(value);
  return `${value < 0 ? "−" : "+"}${mean(Math.abs(value))}`;
}

/** Scores by what the examples are labelled with, each label against the rest. */
export function SegmentTables({ id }: { id: string }) {
  const { by = "tag" } = route.useSearch();
  const navigate = useNavigate({ from: "/jobs/$job" });
  const asked = useQuery(segments(id, by));
  return (
    <Section
      title="Segments"
      tools={
        <Select
          label="By"
          value={by}
          options={BY.map((one) => ({ value: one, label: one }))}
          onChange={(event) =>
            navigate({
              search: (before) => ({ ...before, by: event.target.value as typeof by }),
              replace: true,
              resetScroll: false,
            })
          }
        />
      }
    >
      <Asked query={asked} what="segments" rows={4}>
        {({ items }) => {
          const told = items.filter((one) => one.parts.length > 0);
          if (told.length === 0) return <p className="muted">No example has such a label.</p>;
          return told.map((one) => (
            <div key={one.evaluator}>
              <h3>{one.evaluator}</h3>
              <Table
                caption={`${one.evaluator} by ${by}`}
                columns={COLUMNS}
                rows={one.parts}
                keyOf={(part) => part.label}
              />
              {one.parts.some(isUntold) && (
                <p className="muted">{UNKNOWN}: too few examples have the label, or are without it, to tell.</p>
              )}
            </div>
          ));
        }}
      </Asked>
    </Section>
  );
}
