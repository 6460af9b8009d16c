import { useEffect, useMemo, useRef } from "react";
import { count, counted } from "../../design/numbers";
import styles from "./outline.module.css";
import { type Group, groupsOf, type Steps } from "./steps";

interface OutlineProps {
  steps: Steps;
  current: number;
  /** The steps that are in sight. */
  seen: readonly [number, number];
  choose: (step: number) => void;
}

const WORDS: Record<Group["kind"], string> = { instruction: "instruction", edits: "edits", work: "work" };

/** The way through a trajectory: what was done one after the other, and where something was changed or failed. */
export function Outline({ steps, current, seen, choose }: OutlineProps) {
  const groups = useMemo(() => groupsOf(steps), [steps]);
  return (
    <nav className={styles.outline} aria-label="Outline">
      <ol>
        {groups.map((group) => (
          <li key={group.first}>
            <button
              type="button"
              aria-current={current >= group.first && current <= group.last ? "true" : undefined}
              onClick={() => choose(group.first)}
            >
              <span>{WORDS[group.kind]}</span>
              <span className={styles.range}>
                {group.first === group.last ? count(group.first) : `${count(group.first)}–${count(group.last)}`}
              </span>
              {group.edits > 0 && (
                <span className={styles.edits} title={counted(group.edits, "edit")}>
                  ✎{count(group.edits)}
                </span>
              )}
              {group.failed > 0 && (
                <span className={styles.failed} title={`${counted(group.failed, "step")} failed`}>
                  ✕{count(group.failed)}
                </span>
              )}
            </button>
          </li>
        ))}
      </ol>
      <Minimap steps={steps} seen={seen} choose={choose} />
    </nav>
  );
}

/** All steps from top to bottom: tokens or bytes as width, edits and failures as marks. */
function Minimap({ steps, seen, choose }: Pick<OutlineProps, "steps" | "seen" | "choose">) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context) return;
    paint(element, context, steps, seen);
    const again = new ResizeObserver(() => paint(element, context, steps, seen));
    again.observe(element);
    return () => again.disconnect();
  }, [steps, seen]);
  return (
    <canvas
      ref={canvas}
      className={styles.minimap}
      onClick={(event) => {
        const { top, height } = event.currentTarget.getBoundingClientRect();
        choose(Math.min(steps.count, Math.max(1, Math.ceil(((event.clientY - top) / height) * steps.count))));
      }}
    />
  );
}

function paint(
  element: HTMLCanvasElement,
  context: CanvasRenderingContext2D,
  steps: Steps,
  [first, last]: readonly [number, number],
): void {
  const { clientWidth: width, clientHeight: height } = element;
  const ratio = globalThis.devicePixelRatio || 1;
  element.width = width * ratio;
  element.height = height * ratio;
  context.scale(ratio, ratio);
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const at = (step: number) => ((step - 1) / Math.max(1, steps.count)) * height;
  const tall = Math.max(1, height / Math.max(1, steps.count) - 0.5);
  context.fillStyle = colour("raised");
  context.fillRect(0, at(first), width, Math.max(3, at(last + 1) - at(first)));
  context.fillStyle = colour("border");
  const rows = new Float64Array(Math.ceil(height) + 1);
  steps.sizes.forEach((bytes, index) => {
    const row = Math.floor(at(index + 1));
    rows[row] = Math.max(rows[row] ?? 0, Math.log2(1 + bytes));
  });
  rows.forEach((value, row) => {
    if (value > 0) context.fillRect(0, row, (value / 18) * (width - 16), Math.min(tall, 3));
  });
  const mark = (numbers: readonly number[], name: string, left: number) => {
    context.fillStyle = colour(name);
    for (const step of numbers) context.fillRect(left, at(step), 6, Math.max(2, Math.min(tall, 4)));
  };
  mark(steps.edits, "accent", width - 14);
  mark(steps.failed, "danger", width - 7);
}
