import { useQuery } from "@tanstack/react-query";
import type { Segment } from "../../api/schema";
import { comparedSegments } from "../../api/suites";
import { count, counted, difference, percent, pValue } from "../../design/numbers";
import { Asked } from "../../parts/asked";
import { Button } from "../../parts/button";
import { Section } from "../../parts/section";
import { Empty } from "../../parts/states";
import styles from "./compare.module.css";
import { Axis, againstBase, isDistinguished, reachOf } from "./difference";
import { doubtOf } from "./report";
import { nameOf } from "./tasks";

interface SegmentsProps {
  references: readonly [string, string];
  chosen?: string;
  choose: (segment: string | undefined) => void;
}

/** The difference on the tasks of each difficulty and category; each leads to its tasks. */
export function Segments({ references, chosen, choose }: SegmentsProps) {
  const asked = useQuery(comparedSegments(...references));
  return (
    <Section title="Segments">
      <Asked query={asked} what="segments">
        {({ segments, unlabelled, left_out }) =>
          segments.length === 0 ? (
            <Empty>No task names a difficulty or a category in its metadata, so there are no segments.</Empty>
          ) : (
            <>
              <ul className={styles.segments}>
                {segments.map((one) => (
                  <One key={nameOf(one)} segment={one} reach={reachOf(segments)} chosen={chosen} choose={choose} />
                ))}
              </ul>
              <p className="muted data">
                p is adjusted over all {counted(segments.length, "segment")} (Holm).
                {Object.entries(unlabelled).map(([field, n]) => n > 0 && ` ${counted(n, "task")} without a ${field}.`)}
                {Object.entries(left_out).map(([field, n]) => n > 0 && ` ${count(n)} more of ${field} not compared.`)}
              </p>
            </>
          )
        }
      </Asked>
    </Section>
  );
}

function One({
  segment,
  reach,
  chosen,
  choose,
}: { segment: Segment; reach: number } & Omit<SegmentsProps, "references">) {
  const name = nameOf(segment);
  const seen = againstBase(segment);
  const [clear, doubt] = [isDistinguished(segment), doubtOf(segment)];
  return (
    <li>
      <Button aria-pressed={chosen === name} onClick={() => choose(chosen === name ? undefined : name)}>
        <span className="muted">{segment.field}</span> {segment.label}
      </Button>
      <span className={styles.seen} data-side={clear ? ((seen.difference ?? 0) > 0 ? "up" : "down") : undefined}>
        {difference(seen.difference, seen.interval)}
      </span>
      <Axis {...seen} width={160} reach={reach} />
      <span className="muted data">
        {percent(segment.b)} against {percent(segment.a)} of {counted(segment.tasks, "task")}
        {segment.p_adjusted != null && `, p ${pValue(segment.p_adjusted)}`}
        {segment.tasks > 0 && doubt && `, ${doubt}`}
      </span>
    </li>
  );
}
