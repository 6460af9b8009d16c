import { render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import type { Month } from "../../api/schema";
import { cost } from "../../design/numbers";
import { refusal } from "./budget";
import { BudgetBar, Of } from "./month";

const NANO = 1_000_000_000;

const month = (spent: number): Month => ({
  begins: "2026-12-01T00:00:00Z",
  ends: "2027-01-01T00:00:00Z",
  counted_nano: spent,
  whole: { cost_nano: spent, assumed_nano: 0, entries: 4, unpriced: 0 },
  days_seen: 1,
  days_needed: 7,
  forecast: null,
});

test("a budget of nothing is the strictest, and not none", () => {
  render(<BudgetBar month={month(0)} budget={0} />);
  expect(screen.getByText("budget $0.00: it is used up")).toBeTruthy();
  expect(screen.queryByText("No budget is set.")).toBeNull();
  expect(screen.getByRole("img").getAttribute("aria-label")).toContain("all of $0.00");
});

test("no budget is none, and one that is just reached is used up", () => {
  const { rerender } = render(<BudgetBar month={month(NANO)} budget={null} />);
  expect(screen.getByText("No budget is set.")).toBeTruthy();
  rerender(<BudgetBar month={month(NANO)} budget={NANO} />);
  expect(screen.getByText("budget $1.00: it is used up")).toBeTruthy();
});

test("a budget is nothing, a cent, or more: what is between would be taken for nothing", () => {
  expect(["", "0", "0.01", "12.5"].map(refusal)).toEqual([undefined, undefined, undefined, undefined]);
  expect(refusal("0.0000000001")).toBe("USD a month: 0, or $0.01 or more.");
  expect(refusal("1e30")).toBe("USD a month: $1,000,000,000.00 at most.");
});

test("a part of a month's cost reads as one", () => {
  render(<Of name="Cost this month" used={0} most={null} write={cost} known={0.775} />);
  expect(screen.getByText("≥ $0.00")).toBeTruthy();
});
