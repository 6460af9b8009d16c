/** What a terminal would show of a program's output, as pieces of text with colours. */
import Anser from "anser";

export interface Piece {
  text: string;
  /** One of the 16 colours of a terminal, by name. */
  colour: string | undefined;
  bold: boolean;
}

const ESCAPE = String.fromCharCode(27);
/** Sequences that are no colours: they move the cursor, set titles, or ask the terminal something. */
const OTHER = new RegExp(
  `${ESCAPE}(?:\\[[0-?]*[ -/]*[@-ln-~]|\\][^\\u0007${ESCAPE}]*(?:\\u0007|${ESCAPE}\\\\)?|[PX^_][^${ESCAPE}]*${ESCAPE}\\\\|[()][0-9A-B]|[=>78DEHMNOZc])`,
  "g",
);
/** Characters without a shape, but for tabs and line ends. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f]/g;

/** A line as it stands in the end: what was written over is gone, and so is what is no text. */
export function settled(line: string): string {
  const plain = line.replace(OTHER, "").replace(CONTROL, "");
  const kept = plain.endsWith("\r") ? plain.slice(0, -1) : plain;
  return kept.slice(kept.lastIndexOf("\r") + 1);
}

export function piecesOf(text: string): Piece[] {
  if (!text.includes(ESCAPE)) return [{ text, colour: undefined, bold: false }];
  return Anser.ansiToJson(text, { use_classes: true, remove_empty: true }).map((one) => ({
    text: one.content.replaceAll(ESCAPE, ""),
    colour:
      one.fg && /^ansi-(bright-)?[a-z]+$/.test(one.fg) && one.fg !== "ansi-truecolor" ? one.fg.slice(5) : undefined,
    bold: one.decorations.includes("bold"),
  }));
}

/** The lines of an output, without an empty last one. */
export function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map(settled);
}
