import { useQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState } from "react";
import { clock, count } from "../../design/numbers";
import { words } from "../../design/outcomes";
import { usePreferences } from "../../design/preferences";
import { Button } from "../../parts/button";
import { Empty, Failed, Loading } from "../../parts/states";
import type { Attempt } from "./documents";
import { type LogLine, logOf } from "./log";
import { Line } from "./step/output";
import styles from "./terminal.module.css";

const ROW = 18;

/** What the attempt's programs printed, as a terminal shows it; the end of it first, the rest when asked for. */
export function Terminal({ attempt }: { attempt: Attempt }) {
  const { id, last_segment } = attempt.attempt;
  const [whole, setWhole] = useState(false);
  const asked = useQuery({ ...logOf(id, last_segment, whole), enabled: last_segment > 0 });
  if (last_segment === 0) return <Empty>Nothing was printed.</Empty>;
  if (asked.error) return <Failed error={asked.error} retry={() => asked.refetch()} />;
  if (asked.data === undefined) return <Loading what="the log" rows={12} />;
  return (
    <div className={styles.frame}>
      {asked.data.isCut && (
        <p className={styles.cut}>
          The end of a longer log. <Button onClick={() => setWhole(true)}>Show all of it</Button>
        </p>
      )}
      {asked.data.lines.length ? <Printed lines={asked.data.lines} /> : <Empty>Nothing was printed.</Empty>}
    </div>
  );
}

function Printed({ lines }: { lines: readonly LogLine[] }) {
  const scroller = useRef<HTMLElement>(null);
  const { zone } = usePreferences();
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 30,
  });
  const last = lines.length - 1;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the end, once there is one
  useEffect(() => virtual.scrollToIndex(last, { align: "end" }), [last]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section className={styles.scroll} ref={scroller} tabIndex={0} aria-label={`Log, ${count(lines.length)} lines`}>
      <div className={styles.all} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, key, start }) => {
          const line = lines[index] as LogLine;
          const isFirst = lines[index - 1]?.phase !== line.phase;
          return (
            <div
              key={key}
              ref={virtual.measureElement}
              data-index={index}
              data-stream={line.stream}
              className={styles.line}
              style={{ transform: `translateY(${start}px)` }}
            >
              <span className={styles.phase} title={`${line.phase}, ${line.stream}, ${line.at}`}>
                {isFirst ? words(line.phase) : ""}
              </span>
              <time dateTime={line.at}>{clock(new Date(line.at), zone)}</time>
              <pre>
                <Line text={line.text} />
              </pre>
            </div>
          );
        })}
      </div>
    </section>
  );
}
