import { expect, test } from "vitest";
import { chunksWords } from "./chunks";

test("chunks are of rows in each repeat, or as many as have come of a stream", () => {
  const cut = { rows: 1001, repeats: 3, size: 100 };
  expect(chunksWords({ chunks_done: 12, cut })).toBe("12 of 33");
  expect(chunksWords({ chunks_done: 7, cut: { ...cut, repeats: 1, pieces: 1007 } })).toBe("7 of 1,007");
});
