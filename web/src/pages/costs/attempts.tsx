import { useQuery } from "@tanstack/react-query";
import { usage } from "../../api/administration";
import type { Apart, SpendBy, UsageRow } from "../../api/schema";
import { count, duration } from "../../design/numbers";
import { words } from "../../design/outcomes";
import { Asked } from "../../parts/asked";
import { Section } from "../../parts/section";
import { Empty } from "../../parts/states";
import { type Column, Table } from "../../parts/table";

const APART: readonly SpendBy[] = ["run_set", "profile", "model", "user"];

/** How many attempts were begun, and how long their sandboxes were there. */
export function Attempts({ by, since }: { by: SpendBy; since: string }) {
  const apart = APART.includes(by) ? (by as Apart) : "tenant";
  const asked = useQuery(usage(apart, since));
  return (
    <Section title="Attempts and sandbox time">
      <Asked query={asked} what="attempts" rows={4}>
        {({ rows }) =>
          rows.length === 0 ? (
            <Empty>Nothing was attempted in this time.</Empty>
          ) : (
            <Table
              caption={`Attempts by ${words(apart)}`}
              columns={columns(apart)}
              rows={rows}
              keyOf={(one) => one.key}
            />
          )
        }
      </Asked>
    </Section>
  );
}

const columns = (by: Apart): readonly Column<UsageRow>[] => [
  { name: words(by), cell: (one) => one.name || one.key || (by === "tenant" ? "all of them" : `no ${words(by)}`) },
  { name: "Attempts", kind: "number", cell: (one) => count(one.attempts) },
  { name: "Sandbox time", kind: "number", cell: (one) => duration(one.sandbox_sec) },
];
