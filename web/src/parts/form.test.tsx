import { fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { Dialog } from "./dialog";
import { Field } from "./field";
import { Form } from "./form";

function nameOf(send: (data: FormData) => Promise<unknown>) {
  render(
    <Form send={send}>
      <Field label="Name" name="name" />
      <button type="submit">Add</button>
    </Form>,
  );
  return screen.getByLabelText<HTMLInputElement>("Name");
}

test("two clicks send a form once, and what was taken is cleared", async () => {
  let take = (_: unknown) => {};
  const send = vi.fn(() => new Promise((resolve) => (take = resolve)));
  const name = nameOf(send);
  await userEvent.type(name, "laptop");
  fireEvent.click(screen.getByRole("button"));
  fireEvent.click(screen.getByRole("button"));
  expect(send).toHaveBeenCalledTimes(1);
  take(null);
  await vi.waitFor(() => expect(name.value).toBe(""));
});

test("what was refused stays to be mended and sent again", async () => {
  const send = vi.fn(() => Promise.reject(new Error("The name is taken.")));
  const name = nameOf(send);
  await userEvent.type(name, "laptop");
  await userEvent.click(screen.getByRole("button"));
  expect(name.value).toBe("laptop");
  await userEvent.click(screen.getByRole("button"));
  expect(send).toHaveBeenCalledTimes(2);
});

test("a dialog that holds what is shown once is closed by its own button alone", () => {
  HTMLDialogElement.prototype.showModal ??= () => {};
  HTMLDialogElement.prototype.close ??= () => {};
  const close = vi.fn();
  render(
    <Dialog title="This key is shown this once" close={close} stays>
      secret
    </Dialog>,
  );
  const dialog = screen.getByLabelText("This key is shown this once");
  expect(fireEvent.keyDown(dialog, { key: "Escape" })).toBe(false);
  fireEvent(dialog, new Event("cancel", { cancelable: true }));
  fireEvent.click(dialog);
  expect(close).not.toHaveBeenCalled();
});
