/** The API's matrix as cells. */
import type { Matrix as MatrixDocument } from "../../../api/schema";
import { Cells } from "./cells";

export function cellsOf(document: MatrixDocument): Cells {
  const { cells } = document;
  return new Cells(document.profiles, document.tasks, [...document.states], {
    profile: cells.profile,
    task: cells.task,
    trial: cells.trial,
    place: cells.place,
    state: Uint8Array.from(cells.state),
    decided: Uint8Array.from(cells.decided),
    givenUp: Uint8Array.from(cells.given_up),
    attempts: Uint16Array.from(cells.attempts),
    attempt: new Array(cells.state.length).fill(null),
    limit: [...cells.limit],
    waitsUntil: [...cells.waits_until],
    phase: [...cells.phase],
  });
}
