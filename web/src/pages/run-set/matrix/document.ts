/** The API's matrix as cells. */
import type { Matrix as MatrixDocument } from "../../../api/schema";
import { Cells } from "./cells";

export function cellsOf(document: MatrixDocument): Cells {
  const { cells } = document;
  return new Cells(document.profiles, document.tasks, [...document.classes], {
    ids: cells.cell,
    profile: cells.profile,
    task: cells.task,
    trial: cells.trial,
    state: Uint8Array.from(cells.class),
    decided: Uint8Array.from(cells.decided, Number),
    givenUp: Uint8Array.from(cells.given_up, Number),
    attempts: Uint16Array.from(cells.attempts),
    attempt: [...cells.attempt],
    limit: [...cells.limit],
    waitsUntil: [...cells.waits_until],
  });
}
