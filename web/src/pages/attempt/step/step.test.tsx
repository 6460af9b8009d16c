import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import type { StepDocument, StepIndex } from "../../../api/schema";
import { Steps } from "../steps";
import { Output } from "./output";
import { fragmentOf } from "./sanitized";
import { StepRow } from "./step";

const HOSTILE = `<script>globalThis.owned = true</script><img src="http://evil.example/x.png" onerror="globalThis.owned = true">
[click](javascript:globalThis.owned=true) ![pixel](http://evil.example/p.png) <style>body{display:none}</style>
<a href="https://example.org" onclick="globalThis.owned=true">plain</a> **bold** <iframe src="//evil.example"></iframe>`;

function steps(failed: number[] = []): Steps {
  return Steps.of({
    ...{
      first: 1,
      steps: 1,
      running: false,
      kinds: "m",
      began: null,
      at: [0],
      input_tokens: [2800],
      output_tokens: [245],
    },
    ...{ sizes: [10], failed, edits: [] },
  } as StepIndex);
}

function row(step: Record<string, unknown>, change: { cut?: number; failed?: boolean; expanded?: boolean } = {}) {
  const body = { number: 1, step: { step_id: 1, source: "agent", message: "", ...step }, cut: change.cut ?? 0 };
  const expand = vi.fn();
  const shown = render(
    <StepRow
      attempt="a"
      number={1}
      body={body as unknown as StepDocument}
      steps={steps(change.failed ? [1] : [])}
      isCurrent
      isExpanded={change.expanded ?? false}
      expand={expand}
      choose={vi.fn()}
    />,
  );
  return { ...shown, expand };
}

const answering = (content: string) => ({
  tool_calls: [{ tool_call_id: "c", function_name: "bash", arguments: { command: "make" } }],
  observation: { results: [{ source_call_id: "c", content }] },
});

test("what a stranger wrote does nothing", async () => {
  const { container } = row({ message: HOSTILE, ...answering(HOSTILE), reasoning_content: HOSTILE });
  await waitFor(() => expect(container.querySelector("strong")?.textContent).toBe("bold"));
  expect(container.querySelector("script, img, style, iframe, [onclick], [onerror], [style]")).toBeNull();
  expect([...container.querySelectorAll("a")].every((one) => /^https?:/.test(one.getAttribute("href") ?? ""))).toBe(
    true,
  );
  expect(container.textContent).toContain("<script>");
  expect("owned" in globalThis).toBe(false);
});

test("Markdown is laid out, and HTML in it is text", () => {
  const place = document.createElement("div");
  place.append(fragmentOf("# Head\n\n- one\n\n`code` <b>raw</b>\n\n|a|b|\n|-|-|\n|1|2|"));
  expect(place.querySelector("h1")).toBeNull();
  expect(place.querySelector("li")?.textContent).toBe("one");
  expect(place.querySelector("td")?.textContent).toBe("1");
  expect(place.querySelector("b")).toBeNull();
  expect(place.textContent).toContain("<b>raw</b>");
});

test("outputs are no Markdown and keep their columns", async () => {
  const { container } = row(answering("# not a heading\n  a   b\n**x**\n[exit 0]"));
  const pre = container.querySelector("pre");
  expect(pre?.textContent).toBe("# not a heading\n  a   b\n**x**\n[exit 0]\n");
});

test("the first twelve lines are shown, of what failed the last", async () => {
  const lines = Array.from({ length: 214 }, (_, at) => `line ${at + 1}`).join("\n");
  const first = row(answering(lines));
  expect(first.container.querySelector("pre")?.textContent?.split("\n")[0]).toBe("line 1");
  await userEvent.click(screen.getByRole("button", { name: /12 of 214 lines/ }));
  expect(first.expand).toHaveBeenCalledWith(1);
  first.unmount();
  const failed = row(answering(lines), { failed: true });
  expect(failed.container.querySelector("pre")?.textContent?.trim().split("\n")).toHaveLength(12);
  expect(failed.container.querySelector("pre")?.textContent).toContain("line 214");
  expect(failed.container.textContent).toContain("✕ failed");
});

test("an output of any length leaves the document small", () => {
  const { container } = render(<Output text={"x\n".repeat(200_000)} failed={false} expanded expand={vi.fn()} />);
  expect(container.textContent).toContain("198,000 lines more: open the step's file");
});

test("colours of a terminal are shown", () => {
  const { container } = row(answering("\u001b[31mred\u001b[0m plain"));
  expect(container.querySelector("[data-colour=red]")?.textContent).toBe("red");
});

test("an edit is shown as a diff with what it added and removed", async () => {
  const edit = { file_path: "run.py", old_string: "a\nb\n", new_string: "a\nc\nd\n" };
  const { container } = row({ tool_calls: [{ tool_call_id: "c", function_name: "edit", arguments: edit }] });
  await waitFor(() => expect(container.querySelector("[data-changes]")).not.toBeNull());
  expect(container.querySelector("figcaption")?.textContent).toBe("run.py +2 −1");
});

test("what was left out is counted and can be had", () => {
  row({ message: "x" }, { cut: 115_955 });
  expect(screen.getByText(/115,955 characters left out/)).toBeTruthy();
  expect(screen.getByRole("button", { name: "Open file" })).toBeTruthy();
});

test("a step that is on its way has its place", () => {
  const { container } = render(
    <StepRow
      attempt="a"
      number={1}
      body={undefined}
      steps={steps()}
      isCurrent={false}
      isExpanded={false}
      expand={vi.fn()}
      choose={vi.fn()}
    />,
  );
  expect(container.querySelector("article")?.getAttribute("aria-label")).toBe("Step 1");
});
