/**
 * Pictures of cells. Solid has a verdict, open is owed: below 13 px hatched, from there a tinted square with its glyph;
 * a bar of 2 px is broken in its middle. Each picture is made once for its size and theme.
 */
import { inkOn } from "../../../design/contrast";
import { lookOf, tokenOf } from "../../../design/outcomes";
import { UNDECIDED_STATES } from "./cells";

/** What a picture shows. */
export interface Mark {
  state: string;
  decided: boolean;
  width: number;
  height: number;
  /** Written into the corner where there were several. */
  attempts: number;
  givenUp: boolean;
  /** It passed, and hit a limit. */
  limited: boolean;
  phase: string | null;
}

type Context = OffscreenCanvasRenderingContext2D;

const GLYPH_FROM = 13;
const NOTCH_FROM = 9;
const LETTER_FROM = 16;
const HATCH_FROM = 6;

export class Marks {
  private readonly made = new Map<string, ImageBitmap>();
  private readonly style = getComputedStyle(document.documentElement);

  constructor(private readonly dpr: number) {}

  /** The picture of a mark. */
  of(mark: Mark): ImageBitmap {
    const key = Object.values(mark).join(" ");
    const known = this.made.get(key);
    if (known) return known;
    const canvas = new OffscreenCanvas(Math.ceil(mark.width * this.dpr), Math.ceil(mark.height * this.dpr));
    const context = canvas.getContext("2d") as Context;
    context.scale(this.dpr, this.dpr);
    this.draw(context, mark);
    const made = canvas.transferToImageBitmap(); // drawn many thousand times, and never again upon
    this.made.set(key, made);
    return made;
  }

  /** A colour by its token's name. */
  token(name: string): string {
    return this.style.getPropertyValue(`--${name}`).trim() || "#888";
  }

  private draw(context: Context, mark: Mark): void {
    if (UNDECIDED_STATES.includes(mark.state)) this.withoutOutcome(context, mark);
    else this.outcome(context, mark);
    if (mark.limited && mark.width >= GLYPH_FROM) this.clock(context, mark);
    if (mark.attempts > 1 && mark.width >= GLYPH_FROM) this.number(context, mark);
  }

  private outcome(context: Context, mark: Mark): void {
    const { fill, tint } = this.colours(mark.state);
    const { width, height } = mark;
    if (lookOf(mark.state).hollow) {
      outline(context, mark, fill, 1);
    } else if (isSolid(mark)) {
      context.fillStyle = fill;
      context.fillRect(0, 0, width, height);
    } else if (width >= GLYPH_FROM) {
      context.fillStyle = tint;
      context.fillRect(0, 0, width, height);
      outline(context, mark, fill, 2);
    } else {
      open(context, mark, fill);
    }
    if (width >= GLYPH_FROM) this.glyph(context, mark);
    if (!mark.decided && width >= NOTCH_FROM) this.notch(context, mark);
  }

  private withoutOutcome(context: Context, mark: Mark): void {
    switch (mark.state) {
      case "running":
        outline(context, mark, this.token("accent"), Math.min(2, mark.width / 2));
        if (mark.phase && mark.width >= LETTER_FROM) this.letter(context, mark, mark.phase);
        break;
      case "waiting":
        outline(context, mark, this.token("border"), 1);
        if (mark.width >= NOTCH_FROM) strokeGlyph(context, mark, lookOf("waiting").glyph, this.token("muted"));
        break;
      case "withdrawn":
        outline(context, mark, this.token("line"), 1);
        if (mark.width >= NOTCH_FROM) strokeGlyph(context, mark, lookOf("withdrawn").glyph, this.token("muted"));
        break;
      default:
        outline(context, mark, this.token("border"), mark.width < HATCH_FROM ? 0.5 : 0.75);
        if (mark.state === "queued") this.dot(context, mark);
    }
  }

  private dot(context: Context, { width, height }: Mark): void {
    const size = Math.max(1, Math.min(3, width / 3));
    context.fillStyle = this.token("border");
    context.fillRect((width - size) / 2, (height - size) / 2, size, size);
  }

  private letter(context: Context, { width, height }: Mark, phase: string): void {
    context.font = "500 10px Inter, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = this.token("ink");
    context.fillText(phase.slice(0, 1).toUpperCase(), width / 2, height / 2 + 0.5);
  }

  private glyph(context: Context, mark: Mark): void {
    const { fill, text } = this.colours(mark.state);
    const ink = lookOf(mark.state).hollow ? fill : isSolid(mark) ? inkOn(fill) : text;
    strokeGlyph(context, mark, lookOf(mark.state).glyph, ink);
  }

  private clock(context: Context, { width, height }: Mark): void {
    context.beginPath();
    context.arc(width - 4, height - 4, 2.2, 0, 2 * Math.PI);
    context.strokeStyle = inkOn(this.colours("passed").fill);
    context.lineWidth = 1;
    context.stroke();
  }

  /** In the corner: it will be tried again; filled: given up. */
  private notch(context: Context, { width, givenUp }: Mark): void {
    const size = Math.min(5, width / 3);
    context.beginPath();
    context.moveTo(width - size, 0);
    context.lineTo(width, 0);
    context.lineTo(width, size);
    context.closePath();
    context.fillStyle = this.token(givenUp ? "ink" : "bg");
    context.fill();
  }

  private number(context: Context, mark: Mark): void {
    const { fill, text } = this.colours(mark.state);
    context.font = "500 9px Inter, sans-serif";
    context.textAlign = "right";
    context.fillStyle = isSolid(mark) && !lookOf(mark.state).hollow ? inkOn(fill) : text;
    context.fillText(String(mark.attempts), mark.width - 3, mark.height - 3);
  }

  private colours(state: string): { fill: string; text: string; tint: string } {
    const name = tokenOf(state);
    const { group } = lookOf(name);
    return { fill: this.token(`${name}-fill`), text: this.token(`${group}-text`), tint: this.token(`${group}-tint`) };
  }
}

function isSolid(mark: Mark): boolean {
  return mark.decided || tokenOf(mark.state) === "unclassified";
}

function outline(context: Context, { width, height }: Mark, colour: string, line: number): void {
  context.strokeStyle = colour;
  context.lineWidth = line;
  context.strokeRect(line / 2, line / 2, width - line, height - line);
}

function open(context: Context, mark: Mark, fill: string): void {
  const { width, height } = mark;
  if (width < HATCH_FROM) {
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
  outline(context, mark, fill, 1);
}

function strokeGlyph(context: Context, { width, height }: Mark, path: string, ink: string): void {
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
