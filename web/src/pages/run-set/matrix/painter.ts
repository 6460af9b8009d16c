/** Draws what a window shows of the matrix: cells as copies of their marks, and the names at its edges. */
import type { Cells } from "./cells";
import { Marks } from "./marks";

export interface Layout {
  /** From one profile to the next. */
  pitch: number;
  /** From one task to the next. */
  column: number;
  /** Room for names: of profiles to the left, of tasks above. */
  left: number;
  top: number;
}

export interface Window {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** What is drawn: which profiles and tasks, in which order, and which cells are meant; the others are faint. */
export interface Scene {
  cells: Cells;
  rows: readonly number[];
  tasks: readonly number[];
  layout: Layout;
  matched: Uint8Array | null;
}

/** What stands at a task, one for each trial: how wide, and how far from one to the next. */
export interface Bars {
  width: number;
  step: number;
}

const GLYPHS_FROM = 18;
/** More trials than this are bars at every pitch. */
const MOST_SQUARES = 10;
/** Between the squares of one task and those of the next. */
const APART = 3;

/** Where glyphs are drawn, each of several trials is a square of its own; else they share one square as bars. */
function areSquares(trials: number, pitch: number): boolean {
  return trials > 1 && trials <= MOST_SQUARES && pitch >= GLYPHS_FROM;
}

/** From one task to the next. */
export function columnOf(trials: number, pitch: number): number {
  return areSquares(trials, pitch) ? trials * pitch + APART : pitch;
}

/** Bars have gaps where they stay 2 px wide; else none, so that five are seen in 11 px. Nothing is beyond the column. */
export function barsOf(trials: number, pitch: number): Bars {
  const size = pitch - 1;
  if (trials === 1) return { width: size, step: size };
  if (areSquares(trials, pitch)) return { width: size, step: pitch };
  const apart = Math.floor((size - trials + 1) / trials);
  if (apart >= 2) return { width: apart, step: apart + 1 };
  const width = Math.floor(size / trials) || size / trials;
  return { width, step: width };
}

interface Point {
  x: number;
  y: number;
}

const FAINT = 0.12;
const COUNTS_FROM = 28;

export class Painter {
  private readonly marks: Marks;
  private isBehind = false;
  /** Marks that nothing is written on, by what they say in one number: most cells have one, and are drawn soonest. */
  private readonly plain = new Map<number, ImageBitmap>();
  private plainSize = { width: 0, size: 0 };

  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly dpr: number,
  ) {
    this.marks = new Marks(dpr);
  }

  /** All that a window shows. */
  paint(scene: Scene, window: Window): void {
    const { rows, tasks, layout } = scene;
    this.isBehind = false;
    this.begin();
    this.context.clearRect(0, 0, window.width, window.height);
    const shown = {
      rows: range(window.y, window.height - layout.top, layout.pitch, rows.length),
      tasks: range(window.x, window.width - layout.left, layout.column, tasks.length),
    };
    for (let row = shown.rows.from; row < shown.rows.to; row++) {
      for (let column = shown.tasks.from; column < shown.tasks.to; column++) {
        this.square(scene, row, column, originOf(row, column, layout, window));
      }
    }
    this.profileNames(scene, window, shown.rows);
    this.taskNames(scene, window, shown.tasks);
    this.corner(layout);
  }

  /** One cell anew; where its square is half behind the names, all of the window. */
  repaint(scene: Scene, place: { row: number; column: number }, index: number, window: Window): void {
    const { cells, layout } = scene;
    const at = originOf(place.row, place.column, layout, window);
    const size = layout.pitch - 1;
    const { width, step } = barsOf(cells.trials, layout.pitch);
    if (at.x + layout.column <= layout.left || at.y + size <= layout.top || at.x > window.width || at.y > window.height)
      return;
    if (at.x < layout.left || at.y < layout.top) {
      this.isBehind = true;
      return;
    }
    const x = at.x + (cells.columns.place[index] ?? 0) * step;
    this.begin();
    this.context.clearRect(x, at.y, width, size);
    this.bar(scene, index, { x, y: at.y }, width);
    this.context.globalAlpha = 1;
  }

  /** After the last of `repaint`: what could not be drawn by itself. */
  repainted(scene: Scene, window: Window): void {
    if (this.isBehind) this.paint(scene, window);
  }

  private begin(): void {
    this.context.setTransform(this.dpr, 0, 0, this.dpr, 0, 0);
  }

  private square(scene: Scene, row: number, column: number, at: Point): void {
    const { cells, rows, tasks, layout } = scene;
    const { width, step } = barsOf(cells.trials, layout.pitch);
    for (let place = 0; place < cells.trials; place++) {
      const index = cells.at(rows[row] ?? -1, tasks[column] ?? -1, place);
      if (index >= 0) this.bar(scene, index, { x: at.x + place * step, y: at.y }, width);
    }
    this.context.globalAlpha = 1;
  }

  private bar({ cells, layout, matched }: Scene, index: number, at: Point, width: number): void {
    const size = layout.pitch - 1;
    this.context.globalAlpha = matched === null || matched[index] === 1 ? 1 : FAINT;
    this.context.drawImage(this.mark(cells, index, width, size), at.x, at.y, width, size);
  }

  private mark(cells: Cells, index: number, width: number, size: number): ImageBitmap {
    const { state, decided, givenUp, limit, phase } = cells.columns;
    if (phase[index] || isNumbered(width)) return this.marks.of(markOf(cells, index, width, size));
    if (this.plainSize.width !== width || this.plainSize.size !== size) {
      this.plain.clear();
      this.plainSize = { width, size };
    }
    const key =
      (state[index] ?? 0) * 8 + (decided[index] ?? 0) * 4 + (givenUp[index] ?? 0) * 2 + Number(Boolean(limit[index]));
    const known = this.plain.get(key);
    if (known) return known;
    const made = this.marks.of(markOf(cells, index, width, size));
    this.plain.set(key, made);
    return made;
  }

  private profileNames({ cells, rows, layout }: Scene, window: Window, shown: Range): void {
    this.head(
      { x: 0, y: layout.top, width: layout.left - 6, height: window.height },
      layout.pitch < 18 ? 10 : 12,
      "ink",
    );
    for (let row = shown.from; row < shown.to; row++) {
      const y = layout.top + row * layout.pitch - window.y + layout.pitch / 2;
      this.context.fillText(this.fitted(cells.profiles[rows[row] ?? 0] ?? "", layout.left - 10), 0, y);
    }
    this.context.restore();
  }

  private taskNames({ cells, tasks, layout }: Scene, window: Window, shown: Range): void {
    this.head({ x: layout.left, y: 0, width: window.width, height: layout.top }, layout.pitch < 18 ? 9 : 11, "muted");
    for (let column = shown.from; column < shown.to; column++) {
      this.context.save();
      this.context.translate(layout.left + (column + 0.5) * layout.column - window.x, layout.top - 4);
      this.context.rotate(-Math.PI / 2);
      this.context.fillText(this.fitted(cells.tasks[tasks[column] ?? 0]?.name ?? "", layout.top - 8), 0, 0);
      this.context.restore();
    }
    this.context.restore();
  }

  private corner({ left, top }: Layout): void {
    this.context.fillStyle = this.marks.token("bg");
    this.context.fillRect(0, 0, left, top);
  }

  /** A clean strip for names, in which alone they are drawn until the context is restored. */
  private head(strip: Window, size: number, colour: string): void {
    const { context } = this;
    context.save();
    context.beginPath();
    context.rect(strip.x, strip.y, strip.width, strip.height);
    context.clip();
    context.fillStyle = this.marks.token("bg");
    context.fillRect(strip.x, strip.y, strip.width, strip.height);
    context.font = `400 ${size}px Inter, "Inter fallback", system-ui, sans-serif`;
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.fillStyle = this.marks.token(colour);
  }

  private readonly cut = new Map<string, string>();

  /** A name that fits, with its end cut. */
  private fitted(name: string, width: number): string {
    const key = `${this.context.font}\n${width}\n${name}`;
    const known = this.cut.get(key);
    if (known !== undefined) return known;
    let shown = name;
    while (shown.length > 1 && this.context.measureText(shown).width > width) {
      shown = `${shown.slice(0, shown.length - (shown.endsWith("…") ? 2 : 1))}…`;
    }
    this.cut.set(key, shown);
    return shown;
  }
}

/** Whether it is said how many attempts there were. */
function isNumbered(width: number): boolean {
  return width >= COUNTS_FROM - 1;
}

function markOf(cells: Cells, index: number, width: number, height: number) {
  const state = cells.stateOf(index);
  const { attempts, givenUp, limit, phase } = cells.columns;
  return {
    state,
    decided: cells.isDecided(index),
    width,
    height,
    attempts: isNumbered(width) ? (attempts[index] ?? 0) : 0,
    givenUp: givenUp[index] === 1,
    limited: state === "passed" && Boolean(limit[index]),
    phase: state === "running" ? (phase[index] ?? null) : null,
  };
}

function originOf(row: number, column: number, layout: Layout, window: Window): Point {
  return { x: layout.left + column * layout.column - window.x, y: layout.top + row * layout.pitch - window.y };
}

interface Range {
  from: number;
  to: number;
}

function range(from: number, length: number, pitch: number, count: number): Range {
  return { from: Math.max(0, Math.floor(from / pitch)), to: Math.min(count, Math.ceil((from + length) / pitch)) };
}
