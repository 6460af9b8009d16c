import { useQuery } from "@tanstack/react-query";
import { failures } from "../../api/data";
import type { JobFailures } from "../../api/schema";
import { count, counted, percent } from "../../design/numbers";
import { words } from "../../design/outcomes";
import { Asked } from "../../parts/asked";
import { Section } from "../../parts/section";
import { type Column, Table } from "../../parts/table";

type Kind = JobFailures["by_text"][number];

const columnsOf = (what: string): readonly Column<Kind>[] => [
  { name: what, cell: (one) => <span title={one.label}>{words(one.label)}</span> },
  { name: "Results", kind: "number", cell: (one) => count(one.count) },
  { name: "Share", meaning: "Of all that failed", kind: "number", cell: (one) => percent(one.share) },
  { name: "Examples", cell: (one) => one.examples.slice(0, 3).join(", ") },
];

/** What has no score, by status and by what the errors say. */
export function Failures({ id }: { id: string }) {
  const asked = useQuery(failures(id));
  return (
    <Section title="Failures">
      <Asked query={asked} what="failures" rows={4}>
        {(said) =>
          said.failures === 0 ? (
            <p className="muted">Every result has a score, or was not asked for one.</p>
          ) : (
            <>
              <p>
                {counted(said.failures, "result")} failed; clustered by the text of {counted(said.read, "error")}.
              </p>
              <Table
                caption="By status"
                columns={columnsOf("Status")}
                rows={said.by_status}
                keyOf={(one) => one.label}
              />
              {said.by_text.length > 0 && (
                <Table
                  caption="By what was said"
                  columns={columnsOf("What was said")}
                  rows={said.by_text}
                  keyOf={(one) => one.label}
                />
              )}
            </>
          )
        }
      </Asked>
    </Section>
  );
}
