/** What an attempt's programs printed: its last segments, line by line. */
import { queryOptions } from "@tanstack/react-query";
import { fetched } from "../../api/files";
import { linesOf } from "./ansi";

/** Segments are at most 64 KiB: two megabytes are shown at first. */
const SHOWN_SEGMENTS = 32;

export interface LogLine {
  at: string;
  phase: string;
  stream: string;
  text: string;
}

export interface Log {
  lines: LogLine[];
  /** Whether there is more before. */
  isCut: boolean;
}

export const logOf = (attempt: string, lastSegment: number, whole: boolean) =>
  queryOptions({
    queryKey: ["attempt", attempt, "log", lastSegment, whole],
    queryFn: async ({ signal }): Promise<Log> => {
      const after = whole ? 0 : Math.max(0, lastSegment - SHOWN_SEGMENTS);
      const answer = await fetched(`/api/v1/attempts/${attempt}/log?after=${after}`, signal);
      return { lines: logLines(await answer.text()), isCut: after > 0 };
    },
    staleTime: 60_000,
  });

/** JSON lines, of which each holds a piece of text: whole lines of one stream each. */
export function logLines(text: string): LogLine[] {
  const lines: LogLine[] = [];
  const open = new Map<string, LogLine>();
  for (const piece of text.split("\n")) {
    const { t, phase, stream, text: printed } = read(piece) ?? {};
    if (typeof printed !== "string") continue;
    const name = `${phase} ${stream}`;
    const rows = printed.split("\n");
    rows.forEach((row, at) => {
      const begun = at === 0 ? open.get(name) : undefined;
      const line = begun ?? { at: String(t), phase: String(phase), stream: String(stream), text: "" };
      line.text += row;
      if (!begun && (row || at < rows.length - 1)) lines.push(line);
      if (at < rows.length - 1) open.delete(name);
      else if (row || begun) open.set(name, line);
    });
  }
  for (const line of lines) line.text = linesOf(line.text).join("");
  return lines;
}

function read(line: string): Record<string, unknown> | undefined {
  try {
    return line ? JSON.parse(line) : undefined;
  } catch {
    return undefined;
  }
}
