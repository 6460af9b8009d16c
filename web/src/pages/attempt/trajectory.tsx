import { useQueryClient } from "@tanstack/react-query";
import { useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useImperativeHandle, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { counted } from "../../design/numbers";
import { Button } from "../../parts/button";
import { Failed } from "../../parts/states";
import { stepPage } from "./queries";
import { StepRow } from "./step/step";
import { Bodies, type Steps } from "./steps";
import styles from "./trajectory.module.css";

/** Pixels from the end within which a reader is at the end. */
const AT_END = 48;
/** Firefox draws nothing below 17.9 million pixels: the guess of a height is smaller where there are many steps. */
const TALLEST = 12_000_000;
const [LEAST, MOST] = [64, 320];

export interface TrajectoryHandle {
  /** The first step that is in sight. */
  top: () => number;
  isInSight: (step: number) => boolean;
  show: (step: number) => void;
}

interface TrajectoryProps {
  attempt: string;
  steps: Steps;
  current: number;
  /** Whether somebody chose the current one; of a running attempt the end is shown else. */
  isChosen: boolean;
  expanded: ReadonlySet<number>;
  expand: (step: number) => void;
  choose: (step: number) => void;
  handle: React.Ref<TrajectoryHandle>;
  moved: (first: number, last: number) => void;
}

/** All steps of an attempt, of which those in sight are in the document. */
export function Trajectory(props: TrajectoryProps) {
  const { attempt, steps, current, isChosen, expanded, expand, choose, handle, moved } = props;
  const scroller = useRef<HTMLElement>(null);
  const client = useQueryClient();
  const bodies = useMemo(
    () => new Bodies((first, limit) => client.fetchQuery(stepPage(attempt, first, limit))),
    [attempt, client],
  );
  useSyncExternalStore(bodies.watch, bodies.state);
  const guess = useGuess(steps);
  const virtual = useVirtualizer({
    count: steps.count,
    getScrollElement: () => scroller.current,
    estimateSize: guess,
    overscan: 4,
    initialRect: { width: 1, height: globalThis.innerHeight },
    initialOffset: () => offsetOf(steps.running && !isChosen ? steps.count : current, guess),
  });
  const items = virtual.getVirtualItems();
  const [first, last] = [(items[0]?.index ?? 0) + 1, (items.at(-1)?.index ?? 0) + 1];
  useEffect(() => {
    if (items.length) bodies.want(first, last, steps.count);
  });
  useEffect(() => moved(first, last), [first, last, moved]);
  const tail = useTail(steps, isChosen, scroller, virtual.getTotalSize());
  const anchor = useAnchor(virtual);
  const { show } = anchor;
  const byHand = () => {
    anchor.release();
    tail.byHand();
  };
  const opened = useRef(false);
  useEffect(() => {
    if (opened.current || steps.count === 0) return;
    opened.current = true;
    if (!steps.running || isChosen) show(current);
  }, [steps, current, isChosen, show]);
  useImperativeHandle(handle, () => ({
    top: () => inSight(scroller.current, virtual.getVirtualItems())[0] ?? 1,
    isInSight: (step) => inSight(scroller.current, virtual.getVirtualItems()).includes(step),
    show: (step) => {
      tail.leave();
      show(step);
    },
  }));
  return (
    <div className={styles.frame}>
      {bodies.error !== null && <Failed error={bodies.error} retry={() => bodies.retry()} />}
      <section
        className={styles.scroll}
        ref={scroller}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
        tabIndex={0}
        aria-label="Trajectory"
        onScroll={tail.scrolled}
        onWheel={byHand}
        onPointerDown={byHand}
        onTouchMove={byHand}
        onKeyDown={byHand}
      >
        <div className={styles.all} style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, key, start }) => (
            <div
              key={key}
              ref={virtual.measureElement}
              data-index={index}
              className={styles.place}
              style={{ transform: `translateY(${start}px)` }}
            >
              <StepRow
                attempt={attempt}
                number={index + 1}
                body={bodies.get(index + 1)}
                steps={steps}
                isCurrent={index + 1 === current}
                isExpanded={expanded.has(index + 1)}
                expand={expand}
                choose={choose}
              />
            </div>
          ))}
        </div>
      </section>
      {tail.unseen > 0 && (
        <Button className={styles.unseen} kind="primary" onClick={tail.follow}>
          {counted(tail.unseen, "new step")} ↓
        </Button>
      )}
    </div>
  );
}

/** Bring a step to the top and hold it there while those around it get their heights, until the reader moves. */
function useAnchor(virtual: Virtualizer<HTMLElement, Element>) {
  const anchor = useRef<number | null>(null);
  const show = useCallback(
    (step: number) => {
      anchor.current = step;
      virtual.scrollToIndex(step - 1, { align: "start" });
    },
    [virtual],
  );
  const size = virtual.getTotalSize();
  // biome-ignore lint/correctness/useExhaustiveDependencies: heights have changed
  useEffect(() => {
    if (anchor.current !== null) virtual.scrollToIndex(anchor.current - 1, { align: "start" });
  }, [size, virtual]);
  const release = () => {
    anchor.current = null;
  };
  return { show, release };
}

/** How tall a step is before it is seen: by its bytes, of which a line has about eighty. */
function useGuess(steps: Steps): (index: number) => number {
  return useMemo(() => {
    const raw = (bytes: number) => Math.min(MOST, LEAST + Math.ceil(bytes / 80) * 12);
    const total = steps.sizes.reduce((sum, bytes) => sum + raw(bytes), 0);
    const scale = Math.min(1, TALLEST / Math.max(1, total));
    return (index) => Math.max(24, raw(steps.sizes[index] ?? 0) * scale);
  }, [steps]);
}

/** About where a step is, before any was seen: so its page is the first that is asked for. */
function offsetOf(step: number, guess: (index: number) => number): number {
  let offset = 0;
  for (let index = 0; index < step - 1; index++) offset += guess(index);
  return offset;
}

/**
 * Stay at the end of a trajectory that grows, until the reader goes elsewhere; then count what comes. `size`: how tall
 * all of it is, which changes as steps get their heights; that moves what is in sight too, and is no reader's doing.
 */
function useTail(steps: Steps, isChosen: boolean, scroller: React.RefObject<HTMLElement | null>, size: number) {
  const follows = useRef(steps.running && !isChosen);
  const isByHand = useRef(false);
  const [seen, setSeen] = useState(steps.count);
  const toEnd = useCallback(() => {
    follows.current = true;
    setSeen(steps.count);
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  }, [steps.count, scroller]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is at the end is elsewhere then
  useEffect(() => {
    if (follows.current) toEnd();
  }, [size, toEnd]);
  const before = useRef(0);
  const scrolled = () => {
    const element = scroller.current;
    if (element === null) return;
    const isAtEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - AT_END;
    const isUpwards = element.scrollTop < before.current - 4;
    if (isAtEnd) {
      follows.current = steps.running;
      setSeen(steps.count);
    } else if (isUpwards && isByHand.current) follows.current = false;
    if (isAtEnd && !isUpwards) isByHand.current = false;
    before.current = element.scrollTop;
  };
  const byHand = () => {
    isByHand.current = true;
  };
  const leave = () => {
    follows.current = false;
  };
  const follow = () => {
    isByHand.current = false;
    toEnd();
  };
  return { unseen: Math.max(0, steps.count - seen), follow, scrolled, byHand, leave };
}

function inSight(
  element: HTMLElement | null,
  items: readonly { index: number; start: number; end: number }[],
): number[] {
  if (element === null) return [];
  const [from, to] = [element.scrollTop, element.scrollTop + element.clientHeight];
  return items.filter((item) => item.start >= from - 8 && item.start < to - 24).map((item) => item.index + 1);
}
