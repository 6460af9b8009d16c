/**
 * Draws the matrix: a picture of each (state, verdict, size) is made once, and cells are copies of it. Solid has a
 * verdict, open is owed: below 13 px hatched, from there a tinted square with its glyph; a 2 px bar is broken.
 */
import { lookOf, tokenOf } from "../../../design/outcomes";
import type { Cells } from "./cells";

export interface Layout {
  pitch: number;
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

const FAINT = 0.12;
const GLYPH_FROM = 13;

export class Painter {
  private readonly sprites = new Map<string, OffscreenCanvas>();
  private readonly style: CSSStyleDeclaration;

  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly dpr: number,
  ) {
    this.style = getComputedStyle(document.documentElement);
  }

  /** All that a window shows. `matched`: the others are faint. */
  paint(
    cells: Cells,
    rows: readonly number[],
    tasks: readonly number[],
    layout: Layout,
    window: Window,
    matched: Uint8Array | null,
  ): void {
    const { context } = this;
    context.setTransform(this.dpr, 0, 0, this.dpr, 0, 0);
    context.clearRect(0, 0, window.width, window.height);
    const [firstRow, lastRow] = range(window.y, window.height - layout.top, layout.pitch, rows.length);
    const [firstTask, lastTask] = range(window.x, window.width - layout.left, layout.pitch, tasks.length);
    for (let row = firstRow; row < lastRow; row++) {
      for (let column = firstTask; column < lastTask; column++) {
        this.square(
          cells,
          rows[row] ?? 0,
          tasks[column] ?? 0,
          this.origin(row, column, layout, window),
          layout.pitch,
          matched,
        );
      }
    }
    this.names(cells, rows, tasks, layout, window, [firstRow, lastRow], [firstTask, lastTask]);
  }

  /** One profile and task anew. */
  repaint(
    cells: Cells,
    place: { row: number; column: number; profile: number; task: number },
    layout: Layout,
    window: Window,
    matched: Uint8Array | null,
  ): void {
    const at = this.origin(place.row, place.column, layout, window);
    if (at.x < layout.left - layout.pitch || at.y < layout.top - layout.pitch) return;
    if (at.x > window.width || at.y > window.height) return;
    this.context.setTransform(this.dpr, 0, 0, this.dpr, 0, 0);
    this.context.clearRect(at.x, at.y, layout.pitch - 1, layout.pitch - 1);
    this.square(cells, place.profile, place.task, at, layout.pitch, matched);
  }

  private origin(row: number, column: number, layout: Layout, window: Window): { x: number; y: number } {
    return { x: layout.left + column * layout.pitch - window.x, y: layout.top + row * layout.pitch - window.y };
  }

  private square(
    cells: Cells,
    profile: number,
    task: number,
    at: { x: number; y: number },
    pitch: number,
    matched: Uint8Array | null,
  ): void {
    const size = pitch - 1;
    const width = cells.trials === 1 ? size : Math.max(1, Math.floor((size - (cells.trials - 1)) / cells.trials));
    for (let trial = 0; trial < cells.trials; trial++) {
      const index = cells.at(profile, task, trial);
      if (index < 0) continue;
      const attempts = pitch >= 28 && cells.trials === 1 ? (cells.columns.attempts[index] ?? 0) : 0;
      const givenUp = cells.columns.givenUp[index] === 1;
      const limited = cells.stateOf(index) === "passed" && Boolean(cells.columns.limit[index]);
      const sprite = this.sprite(cells.stateOf(index), cells.isDecided(index), width, size, attempts, givenUp, limited);
      this.context.globalAlpha = matched === null || matched[index] === 1 ? 1 : FAINT;
      this.context.drawImage(sprite, at.x + trial * (width + 1), at.y, width, size);
    }
    this.context.globalAlpha = 1;
  }

  private sprite(
    state: string,
    decided: boolean,
    width: number,
    height: number,
    attempts: number,
    givenUp: boolean,
    limited: boolean,
  ): OffscreenCanvas {
    const key = `${state} ${decided} ${width} ${height} ${attempts} ${givenUp} ${limited}`;
    const known = this.sprites.get(key);
    if (known) return known;
    const canvas = new OffscreenCanvas(Math.ceil(width * this.dpr), Math.ceil(height * this.dpr));
    const context = canvas.getContext("2d") as OffscreenCanvasRenderingContext2D;
    context.scale(this.dpr, this.dpr);
    this.mark(context, state, decided, width, height);
    if (limited && width >= GLYPH_FROM) this.clock(context, width, height);
    if (!decided && width >= 9) this.notch(context, state, width, givenUp);
    if (attempts > 1) this.number(context, state, decided, attempts, width, height);
    this.sprites.set(key, canvas);
    return canvas;
  }

  private mark(
    context: OffscreenCanvasRenderingContext2D,
    state: string,
    decided: boolean,
    width: number,
    height: number,
  ): void {
    const colours = this.colours(state);
    if (state === "not_started" || state === "queued") return this.absent(context, state, width, height);
    if (state === "running") return this.running(context, width, height);
    if (state === "waiting") return this.waiting(context, width, height);
    if (lookOf(state).hollow) {
      this.outline(context, colours.fill, width, height, 1);
    } else if (decided || state === "unclassified") {
      context.fillStyle = colours.fill;
      context.fillRect(0, 0, width, height);
    } else if (width >= GLYPH_FROM) {
      context.fillStyle = colours.tint;
      context.fillRect(0, 0, width, height);
      this.outline(context, colours.fill, width, height, 2);
    } else {
      this.open(context, colours.fill, width, height);
    }
    if (width >= GLYPH_FROM) this.glyph(context, state, decided, width, height);
  }

  /** Hatched at 45°; a bar that is too thin for it is broken in its middle. */
  private open(context: OffscreenCanvasRenderingContext2D, fill: string, width: number, height: number): void {
    if (width < 6) {
      context.fillStyle = fill;
      context.fillRect(0, 0, width, height * 0.38);
      context.fillRect(0, height * 0.62, width, height * 0.38);
      return;
    }
    context.save();
    context.beginPath();
    context.rect(0, 0, width, height);
    context.clip();
    context.strokeStyle = fill;
    context.lineWidth = 1.4;
    context.beginPath();
    for (let at = -height; at < width; at += 3.6) {
      context.moveTo(at, height);
      context.lineTo(at + height, 0);
    }
    context.stroke();
    context.restore();
    this.outline(context, fill, width, height, 1);
  }

  private outline(
    context: OffscreenCanvasRenderingContext2D,
    colour: string,
    width: number,
    height: number,
    line: number,
  ): void {
    context.strokeStyle = colour;
    context.lineWidth = line;
    context.strokeRect(line / 2, line / 2, width - line, height - line);
  }

  private absent(context: OffscreenCanvasRenderingContext2D, state: string, width: number, height: number): void {
    this.outline(context, this.token(width < 6 ? "line" : "border"), width, height, width < 6 ? 1 : 0.75);
    if (state !== "queued") return;
    context.fillStyle = this.token("border");
    const size = Math.max(1, Math.min(3, width / 3));
    context.fillRect((width - size) / 2, (height - size) / 2, size, size);
  }

  private running(context: OffscreenCanvasRenderingContext2D, width: number, height: number): void {
    this.outline(context, this.token("accent"), width, height, Math.min(2, width / 2));
  }

  private waiting(context: OffscreenCanvasRenderingContext2D, width: number, height: number): void {
    this.outline(context, this.token("provider-fill", "border"), width, height, 1);
    if (width >= 9) this.strokeGlyph(context, lookOf("agent_limit").glyph, this.token("muted"), width, height);
  }

  private glyph(
    context: OffscreenCanvasRenderingContext2D,
    state: string,
    decided: boolean,
    width: number,
    height: number,
  ): void {
    const { fill, text } = this.colours(state);
    const isSolid = (decided && !lookOf(state).hollow) || state === "unclassified";
    const ink = lookOf(state).hollow ? fill : isSolid ? inkOn(fill) : text;
    this.strokeGlyph(context, lookOf(state).glyph, ink, width, height);
  }

  private strokeGlyph(
    context: OffscreenCanvasRenderingContext2D,
    path: string,
    ink: string,
    width: number,
    height: number,
  ): void {
    const size = Math.min(12, width - 2);
    context.save();
    context.translate((width - size) / 2, (height - size) / 2);
    context.scale(size / 12, size / 12);
    context.strokeStyle = ink;
    context.lineWidth = 1.6;
    context.lineCap = "round";
    context.lineJoin = "round";
    context.stroke(new Path2D(path));
    context.restore();
  }

  /** A small clock beside the check: it passed, and hit a limit. */
  private clock(context: OffscreenCanvasRenderingContext2D, width: number, height: number): void {
    context.beginPath();
    context.arc(width - 4, height - 4, 2.2, 0, 2 * Math.PI);
    context.strokeStyle = inkOn(this.colours("passed").fill);
    context.lineWidth = 1;
    context.stroke();
  }

  /** A notch in the corner: it will be tried again; filled: given up. */
  private notch(context: OffscreenCanvasRenderingContext2D, state: string, width: number, givenUp: boolean): void {
    if (["not_started", "queued", "running", "waiting", "withdrawn"].includes(state)) return;
    const size = Math.min(5, width / 3);
    context.beginPath();
    context.moveTo(width - size, 0);
    context.lineTo(width, 0);
    context.lineTo(width, size);
    context.closePath();
    context.fillStyle = givenUp ? this.token("ink") : this.token("bg");
    context.fill();
  }

  private number(
    context: OffscreenCanvasRenderingContext2D,
    state: string,
    decided: boolean,
    attempts: number,
    width: number,
    height: number,
  ): void {
    const { fill, text } = this.colours(state);
    context.font = "500 9px Inter, sans-serif";
    context.textAlign = "right";
    context.fillStyle = decided && !lookOf(state).hollow ? inkOn(fill) : text;
    context.fillText(String(attempts), width - 3, height - 3);
  }

  private names(
    cells: Cells,
    rows: readonly number[],
    tasks: readonly number[],
    layout: Layout,
    window: Window,
    [firstRow, lastRow]: [number, number],
    [firstTask, lastTask]: [number, number],
  ): void {
    const { context } = this;
    context.fillStyle = this.token("bg");
    context.fillRect(0, 0, window.width, layout.top);
    context.fillRect(0, 0, layout.left, window.height);
    context.font = `400 ${layout.pitch < 18 ? 10 : 12}px Inter, "Inter fallback", system-ui, sans-serif`;
    context.textBaseline = "middle";
    context.fillStyle = this.token("ink");
    context.textAlign = "left";
    context.save();
    context.beginPath();
    context.rect(0, layout.top, layout.left - 6, window.height);
    context.clip();
    for (let row = firstRow; row < lastRow; row++) {
      const y = layout.top + row * layout.pitch - window.y + layout.pitch / 2;
      context.fillText(fitted(context, cells.profiles[rows[row] ?? 0] ?? "", layout.left - 10), 0, y);
    }
    context.restore();
    context.fillStyle = this.token("muted");
    context.font = `400 ${layout.pitch < 18 ? 9 : 11}px Inter, "Inter fallback", system-ui, sans-serif`;
    context.save();
    context.beginPath();
    context.rect(layout.left, 0, window.width, layout.top);
    context.clip();
    for (let column = firstTask; column < lastTask; column++) {
      context.save();
      context.translate(layout.left + column * layout.pitch - window.x + layout.pitch / 2, layout.top - 4);
      context.rotate(-Math.PI / 2);
      context.fillText(fitted(context, cells.tasks[tasks[column] ?? 0]?.name ?? "", layout.top - 8), 0, 0);
      context.restore();
    }
    context.restore();
  }

  private colours(state: string): { fill: string; text: string; tint: string } {
    const name = tokenOf(state);
    const group = lookOf(name).group;
    return { fill: this.token(`${name}-fill`), text: this.token(`${group}-text`), tint: this.token(`${group}-tint`) };
  }

  private token(name: string, otherwise = "ink"): string {
    return (
      this.style.getPropertyValue(`--${name}`).trim() || this.style.getPropertyValue(`--${otherwise}`).trim() || "#888"
    );
  }
}

function range(from: number, length: number, pitch: number, count: number): [number, number] {
  return [Math.max(0, Math.floor(from / pitch)), Math.min(count, Math.ceil((from + length) / pitch))];
}

const FITTED = new Map<string, string>();

/** A name that fits, with its end cut. */
function fitted(context: CanvasRenderingContext2D, name: string, width: number): string {
  const key = `${context.font}${width}${name}`;
  const known = FITTED.get(key);
  if (known !== undefined) return known;
  let shown = name;
  while (shown.length > 1 && context.measureText(shown).width > width) {
    shown = `${shown.slice(0, shown.length - (shown.endsWith("…") ? 2 : 1))}…`;
  }
  FITTED.set(key, shown);
  return shown;
}

/** The ink that reads better on a fill. */
export function inkOn(fill: string): string {
  const [dark, light] = ["#0B0E13", "#FFFFFF"];
  return contrast(light, fill) >= contrast(dark, fill) ? light : dark;
}

function contrast(one: string, other: string): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

function luminance(colour: string): number {
  const channel = (at: number) => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}
