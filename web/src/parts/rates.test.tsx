import { expect, test } from "vitest";
import type { Rates as RatesDocument } from "../api/schema";
import { shown } from "../testing/render";
import { Rates, RatesPlot } from "./rates";

const CELLS = { passed: "/a?class=passed", decided: "/a?decided=true", owed: "/a?owed=true", all: "/a" };

const TEN: RatesDocument = {
  counts: { expected: 10, decided: 5, passed: 5, withdrawn: 0 },
  strict: 0.5,
  graded: 1,
  coverage: 0.5,
  bounds: { low: 0.5, high: 1 },
  interval: { low: 0.2366, high: 0.7634 },
};

const PUBLISHED: RatesDocument = {
  counts: { expected: 172, decided: 148, passed: 108, withdrawn: 0 },
  strict: 108 / 172,
  graded: 108 / 148,
  coverage: 148 / 172,
  bounds: { low: 108 / 172, high: 132 / 172 },
  interval: { low: 0.5537, high: 0.6965 },
};

const NOTHING: RatesDocument = {
  counts: { expected: 0, decided: 0, passed: 0, withdrawn: 0 },
  strict: null,
  graded: null,
  coverage: null,
  bounds: null,
  interval: null,
};

function told(container: HTMLElement): Record<string, string> {
  const parts = [...container.querySelectorAll("[data-rates] > div")];
  return Object.fromEntries(
    parts.map((one) => [one.querySelector("dt")?.textContent, one.querySelector("dd b")?.textContent]),
  );
}

test("the ten-cell case has its four rates together", async () => {
  const { container } = await shown(<Rates rates={TEN} cells={CELLS} />);
  expect(told(container)).toEqual({ strict: "50.0%", graded: "100.0%", coverage: "50.0%", bounds: "50.0–100.0" });
});

test("the published case has its four rates and its interval", async () => {
  const { container, getByText } = await shown(<Rates rates={PUBLISHED} cells={CELLS} headline />);
  expect(told(container)).toEqual({ strict: "62.8%", graded: "73.0%", coverage: "86.0%", bounds: "62.8–76.7" });
  expect(getByText("55.4–69.7")).toBeTruthy();
});

test("no rate stands without what it is of, and each count leads to its cells", async () => {
  const { container } = await shown(<Rates rates={PUBLISHED} cells={CELLS} />);
  const links = [...container.querySelectorAll("[data-rates] a")].map((one) => [
    one.textContent,
    one.getAttribute("href"),
  ]);
  expect(links).toEqual([
    ["108/172", "/a?class=passed"],
    ["108/148", "/a?decided=true"],
    ["148/172", "/a?decided=true"],
    ["24 cells owed", "/a?owed=true"],
  ]);
});

test("rates of nothing are unknown, and never zero", async () => {
  const { container } = await shown(<Rates rates={NOTHING} cells={CELLS} />);
  expect(told(container)).toEqual({ strict: "—", graded: "—", coverage: "—", bounds: "—" });
});

test("the drawing says in words what it draws", async () => {
  const { getByRole } = await shown(<RatesPlot rates={PUBLISHED} />);
  expect(getByRole("img").getAttribute("aria-label")).toBe(
    "strict 62.8%, 95 % interval 55.4–69.7, graded 73.0%, bounds 62.8–76.7",
  );
});
