import { expect, test } from "vitest";
import type { AuditEntry } from "../../api/schema";
import { detailOf, shortened } from "./detail";

const said = (detail: AuditEntry["detail"]) => detailOf({ action: "key.created", detail } as AuditEntry);

test("what a change replaced stands before what holds now", () => {
  expect(said({ role: "member", disabled: false, before: { role: "viewer" } })).toBe(
    "role: viewer → member · disabled: no",
  );
  expect(said({ user_month_nano: 5_000_000_000, before: { user_month_nano: null } })).toBe("user month: none → $5.00");
  expect(said({ user_month_nano: null, before: { user_month_nano: 5_000_000_000 } })).toBe("user month: $5.00 → none");
  expect(said({ before: {} })).toBe("");
});

test("what stands in its own column is not said again", () => {
  const made = { action: "dataset.made", detail: { kind: "import-dataset", dataset: "qa", version: "1.0.0" } };
  expect(detailOf(made as unknown as AuditEntry)).toBe("kind: import-dataset");
  const secret = { action: "secret.set", detail: { version: 3 } };
  expect(detailOf(secret as unknown as AuditEntry)).toBe("version: 3");
});

test("ids are cut and names are not", () => {
  const id = "efea18f6-7af9-8fe0-9296-d89acec2787b";
  expect(shortened(id)).toBe("efea18f6");
  expect(said({ user: id, scopes: ["runs:read", "runs:write"] })).toBe(
    "user: efea18f6 · scopes: runs:read, runs:write",
  );
  expect(said({ scopes: null })).toBe("scopes: all of its user's role");
  expect(
    detailOf(
      { action: "key.created", detail: { user: id } } as unknown as AuditEntry,
      new Map([[id, "ivy@example.org"]]),
    ),
  ).toBe("user: ivy@example.org");
  expect(said({ scopes: [], reason: "<b>&" })).toBe("scopes: none · reason: <b>&");
});
