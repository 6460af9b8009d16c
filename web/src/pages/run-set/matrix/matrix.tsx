import { useCallback, useEffect, useImperativeHandle, useLayoutEffect, useMemo, useRef, useState } from "react";
import { NARROW, useMedia, useShownTheme } from "../../../design/media";
import { words } from "../../../design/outcomes";
import { useKeys } from "../../../shell/keys";
import type { Cells, CellView } from "./cells";
import styles from "./matrix.module.css";
import { barsOf, columnOf, type Layout, Painter, type Scene, type Window } from "./painter";

export interface MatrixHandle {
  /** Draw these cells anew, and ring them where they are few. */
  changed: (indices: readonly number[]) => void;
}

interface MatrixProps {
  cells: Cells;
  /** Which profiles and tasks are shown, in which order. */
  rows: readonly number[];
  tasks: readonly number[];
  pitch: number;
  matched: Uint8Array | null;
  cursor: number;
  moved: (index: number) => void;
  pinned: (index: number) => void;
  /** Names of profiles, or of tasks, were chosen: one, or those that the pointer was drawn over. */
  named: (names: Named) => void;
  handle: React.Ref<MatrixHandle>;
}

export type Named = { profiles: string[] } | { tasks: string[] };

/** Where names are drawn over: from which to which, of one kind. */
interface Stroke {
  kind: "profiles" | "tasks";
  from: number;
  to: number;
}

/** Names that are drawn over at once, at most: an address holds them. */
const DRAWN = 200;
const RINGED = 50;
const RING_MS = 600;

/** Profiles × tasks on one canvas, with one cell of it in the document: the one that the keys are on. */
export function Matrix({ cells, rows, tasks, pitch, matched, cursor, moved, pinned, named, handle }: MatrixProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const painter = useRef<Painter | null>(null);
  const [rings, setRings] = useState<readonly number[]>([]);
  const theme = useShownTheme();
  const layout = useLayout(cells, pitch);
  const scene: Scene = useMemo(() => ({ cells, rows, tasks, layout, matched }), [cells, rows, tasks, layout, matched]);
  const places = useMemo(() => new Places(rows, tasks), [rows, tasks]);
  const width = layout.left + tasks.length * layout.column;
  const height = layout.top + rows.length * pitch;

  const view = useCallback((): Window => {
    const element = scroller.current;
    if (element === null) return { x: 0, y: 0, width: 0, height: 0 };
    return { x: element.scrollLeft, y: element.scrollTop, width: element.clientWidth, height: element.clientHeight };
  }, []);

  const paint = useCallback(() => {
    const element = canvas.current;
    const window = view();
    if (element === null || window.width === 0) return;
    const dpr = globalThis.devicePixelRatio || 1;
    const [w, h] = [Math.round(window.width * dpr), Math.round(window.height * dpr)];
    if (element.width !== w || element.height !== h) {
      element.width = w;
      element.height = h;
      element.style.width = `${window.width}px`;
      element.style.height = `${window.height}px`;
      painter.current = null;
    }
    const context = element.getContext("2d");
    if (context === null) return;
    const began = performance.now();
    painter.current ??= new Painter(context, dpr);
    painter.current.paint(scene, window);
    took("matrix-paint", began);
  }, [scene, view]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another theme has other colours
  useLayoutEffect(() => {
    painter.current = null;
    paint();
  }, [paint, theme]);

  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const frame = onceAFrame(paint);
    const sizes = new ResizeObserver(frame);
    sizes.observe(element);
    element.addEventListener("scroll", frame, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener("scroll", frame);
    };
  }, [paint]);

  const dirty = useRef(new Set<number>());
  const flush = useMemo(
    () =>
      onceAFrame(() => {
        const began = performance.now();
        const indices = [...dirty.current];
        dirty.current.clear();
        const window = view();
        for (const index of indices) {
          const place = places.of(cells, index);
          if (place) painter.current?.repaint(scene, place, index, window);
        }
        painter.current?.repainted(scene, window);
        if (indices.length <= RINGED) setRings(indices);
        took("matrix-repaint", began);
      }),
    [scene, cells, places, view],
  );
  useImperativeHandle(
    handle,
    () => ({
      changed: (indices) => {
        for (const index of indices) dirty.current.add(index);
        flush();
      },
    }),
    [flush],
  );
  useEffect(() => {
    if (rings.length === 0) return;
    const timer = setTimeout(() => setRings([]), RING_MS);
    return () => clearTimeout(timer);
  }, [rings]);

  const boxOf = (index: number) => {
    const place = places.of(cells, index);
    if (place === null) return null;
    const { width, step } = barsOf(cells.trials, pitch);
    const left = layout.left + place.column * layout.column + (cells.columns.place[index] ?? 0) * step;
    return { left, top: layout.top + place.row * pitch, width, height: pitch - 1 };
  };

  /** Where the pointer is, from the first cell on; negative: on the names. */
  const place = (event: React.MouseEvent): { x: number; y: number } | null => {
    const element = scroller.current;
    if (element === null) return null;
    const box = element.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left - layout.left, event.clientY - box.top - layout.top];
    return { x: x < 0 ? x : x + element.scrollLeft, y: y < 0 ? y : y + element.scrollTop };
  };

  const under = (event: React.MouseEvent): number => {
    const at = place(event);
    if (at === null || at.x < 0 || at.y < 0) return -1;
    const [row, column] = [Math.floor(at.y / pitch), Math.floor(at.x / layout.column)];
    const trial = Math.floor((at.x % layout.column) / barsOf(cells.trials, pitch).step);
    return cells.at(rows[row] ?? -1, tasks[column] ?? -1, Math.min(trial, cells.trials - 1));
  };

  /** The name under the pointer, by its place; nothing among the cells and in the corner. */
  const nameUnder = (event: React.MouseEvent, kind?: Stroke["kind"]): Omit<Stroke, "from"> | null => {
    const at = place(event);
    if (at === null || (kind === undefined && at.x < 0 === at.y < 0)) return null;
    const along = kind ?? (at.x < 0 ? "profiles" : "tasks");
    const [way, most, each] = along === "profiles" ? [at.y, rows.length, pitch] : [at.x, tasks.length, layout.column];
    const to = Math.floor(way / each);
    if (kind === undefined && to >= most) return null;
    return { kind: along, to: Math.max(0, Math.min(most - 1, to)) };
  };
  const [stroke, setStroke] = useState<Stroke | null>(null);
  const draw = (event: React.MouseEvent) => {
    if (stroke === null) return;
    const { to } = nameUnder(event, stroke.kind) ?? stroke;
    const reach = Math.max(stroke.from - DRAWN + 1, Math.min(stroke.from + DRAWN - 1, to));
    if (reach !== stroke.to) setStroke({ ...stroke, to: reach });
  };
  const drawn = () => {
    if (stroke === null) return;
    const [first, last] = [Math.min(stroke.from, stroke.to), Math.max(stroke.from, stroke.to)];
    const profiles = rows.slice(first, last + 1).map((one) => cells.profiles[one] ?? "");
    const names = tasks.slice(first, last + 1).map((one) => cells.tasks[one]?.name ?? "");
    setStroke(null);
    named(stroke.kind === "profiles" ? { profiles } : { tasks: names });
  };

  const step = (down: number, right: number) => {
    const next = places.step(cells, cursor, down, right);
    if (next >= 0) {
      moved(next);
      reveal(scroller.current, boxOf(next), layout);
    }
  };

  useKeys([
    { keys: "← ↑ ↓ →", what: "Move among the cells, in the grid", run: () => undefined },
    { keys: "Enter", what: "Pin the cell", run: () => cursor >= 0 && pinned(cursor) },
    ...(stroke ? [{ keys: "Escape", what: "Choose none of these names", run: () => setStroke(null) }] : []),
  ]);
  const keys: Record<string, () => void> = {
    ArrowUp: () => step(-1, 0),
    ArrowDown: () => step(1, 0),
    ArrowLeft: () => step(0, -1),
    ArrowRight: () => step(0, 1),
    Enter: () => cursor >= 0 && pinned(cursor),
  };

  const focus = cursor >= 0 ? boxOf(cursor) : null;
  return (
    <div
      ref={scroller}
      className={styles.scroller}
      role="grid"
      aria-label="Profiles by tasks"
      aria-rowcount={rows.length}
      aria-colcount={tasks.length * cells.trials}
      tabIndex={-1}
      onMouseMove={(event) => {
        draw(event);
        const index = stroke ? -1 : under(event);
        if (index >= 0 && index !== cursor) moved(index);
      }}
      onPointerDown={(event) => {
        // a stroke that leaves the grid goes on, and ends where the button is let go
        if (event.pointerType === "mouse" && nameUnder(event) !== null)
          event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onMouseDown={(event) => {
        const name = event.button === 0 ? nameUnder(event) : null;
        if (name === null) return;
        event.preventDefault(); // no text is selected while names are
        setStroke({ ...name, from: name.to });
      }}
      onMouseUp={drawn}
      onMouseLeave={() => setStroke(null)}
      onClick={(event) => {
        const index = under(event);
        if (index >= 0) pinned(index);
      }}
      onKeyDown={(event) => {
        const run = keys[event.key];
        if (run) {
          event.preventDefault();
          event.stopPropagation();
          run();
        }
      }}
    >
      <div className={styles.sizer} style={{ width, height }}>
        <canvas ref={canvas} className={styles.canvas} />
        {stroke && <span className={styles.stroke} style={strokeBox(stroke, layout, { width, height })} />}
        {rings.map((index) => {
          const box = boxOf(index);
          return box && <span key={index} className={styles.ring} style={box} />;
        })}
        {/* biome-ignore lint/a11y/useFocusableInteractive: the cell in it is */}
        <div role="row" aria-rowindex={(places.of(cells, cursor)?.row ?? 0) + 1} className={styles.row}>
          <div
            role="gridcell"
            className={styles.cursor}
            tabIndex={0}
            aria-colindex={(places.of(cells, cursor)?.column ?? 0) * cells.trials + 1}
            aria-label={cursor >= 0 ? nameOf(cells.view(cursor)) : "No cell chosen: the arrow keys move"}
            style={focus ?? { left: layout.left, top: layout.top, width: pitch - 1, height: pitch - 1 }}
            data-empty={focus === null ? "" : undefined}
          />
        </div>
      </div>
    </div>
  );
}

/** A cell in one breath: `sonnet-4-5, build-initramfs-qemu, trial 3, image error, owed`. */
export function nameOf(cell: CellView): string {
  const owed = cell.decided ? "" : cell.givenUp ? ", owed, given up" : ", owed";
  const until = cell.waitsUntil ? `, until ${cell.waitsUntil}` : "";
  return `${cell.profile}, ${cell.task.name}, trial ${cell.trial}, ${words(cell.state)}${owed}${until}`;
}

/** Where profiles and tasks stand now. */
class Places {
  private readonly rowOf: Map<number, number>;
  private readonly columnOf: Map<number, number>;

  constructor(
    private readonly rows: readonly number[],
    private readonly tasks: readonly number[],
  ) {
    this.rowOf = new Map(rows.map((profile, row) => [profile, row]));
    this.columnOf = new Map(tasks.map((task, column) => [task, column]));
  }

  of(cells: Cells, index: number): { row: number; column: number; profile: number; task: number } | null {
    if (index < 0) return null;
    const [profile, task] = [cells.columns.profile[index] ?? -1, cells.columns.task[index] ?? -1];
    const [row, column] = [this.rowOf.get(profile), this.columnOf.get(task)];
    return row === undefined || column === undefined ? null : { row, column, profile, task };
  }

  /** The next cell in a direction; from nowhere the first. */
  step(cells: Cells, index: number, down: number, right: number): number {
    const place = this.of(cells, index);
    if (place === null) return cells.at(this.rows[0] ?? -1, this.tasks[0] ?? -1, 0);
    const trial = (cells.columns.place[index] ?? 0) + right;
    if (right !== 0 && trial >= 0 && trial < cells.trials) return cells.at(place.profile, place.task, trial);
    const [row, column] = [place.row + down, place.column + right];
    const next = right < 0 ? cells.trials - 1 : right > 0 ? 0 : (cells.columns.place[index] ?? 0);
    return cells.at(this.rows[row] ?? -1, this.tasks[column] ?? -1, next);
  }
}

/** What is drawn over, with all of its cells. */
function strokeBox({ kind, from, to }: Stroke, layout: Layout, size: { width: number; height: number }) {
  const { pitch, column, left, top } = layout;
  const each = kind === "profiles" ? pitch : column;
  const [first, length] = [Math.min(from, to) * each, (Math.abs(to - from) + 1) * each];
  return kind === "profiles"
    ? { left: 0, top: top + first, width: size.width, height: length }
    : { left: left + first, top: 0, width: length, height: size.height };
}

function reveal(
  element: HTMLElement | null,
  box: { left: number; top: number; width: number; height: number } | null,
  layout: Layout,
) {
  if (element === null || box === null) return;
  const [left, top] = [box.left - layout.left, box.top - layout.top];
  if (left < element.scrollLeft) element.scrollLeft = left;
  else if (box.left + box.width > element.scrollLeft + element.clientWidth)
    element.scrollLeft = box.left + box.width - element.clientWidth;
  if (top < element.scrollTop) element.scrollTop = top;
  else if (box.top + box.height > element.scrollTop + element.clientHeight)
    element.scrollTop = box.top + box.height - element.clientHeight;
}

function useLayout(cells: Cells, pitch: number): Layout {
  const narrow = useMedia(NARROW);
  return useMemo(() => {
    const longest = (names: readonly string[]) => names.reduce((most, name) => Math.max(most, name.length), 0);
    const letter = pitch < 18 ? 5.2 : 6.6;
    return {
      pitch,
      column: columnOf(cells.trials, pitch),
      left: Math.min(narrow ? 96 : 200, Math.ceil(longest(cells.profiles) * letter) + 24),
      top: Math.min(140, Math.ceil(longest(cells.tasks.map((one) => one.name)) * letter) + 10),
    };
  }, [cells, pitch, narrow]);
}

/** Tell whoever measures, and keep the last alone: a run set is looked at for hours. */
function took(name: string, began: number): void {
  performance.clearMeasures(name);
  performance.measure(name, { start: began });
}

/** Do something at the next frame, however often it is asked for before. */
function onceAFrame(work: () => void): () => void {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      work();
    });
  };
}
