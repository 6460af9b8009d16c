/** How far a job is, in the chunks that it is cut into. */
import type { Job } from "../../api/schema";
import { count } from "../../design/numbers";

/** How many chunks there are: of a stream those that came so far. */
export function chunksOf({ rows, repeats, size, pieces }: Job["cut"]): number {
  return pieces ?? Math.ceil(rows / size) * repeats;
}

/** `12 of 40`. */
export function chunksWords({ chunks_done, cut }: Pick<Job, "chunks_done" | "cut">): string {
  return `${count(chunks_done)} of ${count(chunksOf(cut))}`;
}
