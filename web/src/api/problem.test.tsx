import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { Failed } from "../parts/states";
import { shown } from "../testing/render";
import { problemOf, told } from "./problem";

const invalid = (where: string, detail: string) =>
  problemOf(422, {
    code: "request-invalid",
    detail,
    where,
    remedy: "`errors` names each place that is wrong; /api/v1/openapi.json describes every request.",
    errors: [{ where, detail }],
  });

test("what a request lacks is told by the page's own names, and no parser is heard", () => {
  const unread = "Unable to parse input string as an integer, exceeded maximum size";
  const amount = invalid("body.month_nano", unread);
  expect(told(amount, { month_nano: "USD a month" })).toBe("USD a month: can't be read as it is; write it otherwise.");
  expect(told(invalid("body.result_days", "Input should be greater than or equal to 1"), {})).toBe(
    "result days: should be greater than or equal to 1.",
  );
  expect(invalid("query.since", "Input should be a valid datetime, invalid character in year").message).toBe(
    "since: should be a valid datetime.",
  );
  expect(amount.isOf("month_nano")).toBe(true);
  expect(told(problemOf(409, { code: "name-taken", detail: "The name is taken." }), {})).toBe("The name is taken.");
});

test("an address that can't be is left by its page without filters, and a page that is gone by the first", async () => {
  const retry = () => {};
  const { unmount } = await shown(
    <Failed error={invalid("query.since", "Input should be a datetime")} retry={retry} />,
  );
  expect(screen.getByRole("link").textContent).toBe("The page without its filters");
  expect(screen.queryByRole("button")).toBeNull();
  unmount();
  const lost = problemOf(422, { code: "cursor", detail: "The cursor is none of this list's.", remedy: "Send `next`." });
  await shown(<Failed error={lost} retry={retry} />);
  expect(screen.getByRole("link").textContent).toBe("Back to the first page");
  expect(screen.queryByText(/cursor/)).toBeNull();
  expect(screen.queryByRole("button")).toBeNull();
});
