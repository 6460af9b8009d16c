import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { listenForKeys, useKeys } from "./keys";

const run = vi.fn();
let stop = () => {};

function Page() {
  useKeys([
    { keys: "c", what: "Compare", run },
    { keys: " ", what: "Pin", run },
  ]);
  return (
    <>
      <button type="button">button</button>
      <input type="checkbox" aria-label="tick" />
      <input aria-label="text" />
    </>
  );
}

afterEach(() => {
  cleanup();
  stop();
  run.mockClear();
});

function press(element: Element, key: string): void {
  element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
}

test("what has the focus keeps the keys that it takes itself, and no others", () => {
  stop = listenForKeys();
  render(<Page />);
  const [button, tick, text] = [
    screen.getByRole("button"),
    screen.getByLabelText("tick"),
    screen.getByLabelText("text"),
  ];
  for (const one of [button, tick]) {
    press(one, " ");
    press(one, "Enter");
  }
  press(text, "c");
  expect(run).not.toHaveBeenCalled();
  press(button, "c");
  press(tick, "c");
  press(document.body, " ");
  expect(run).toHaveBeenCalledTimes(3);
});
