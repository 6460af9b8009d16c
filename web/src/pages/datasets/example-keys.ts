import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { stepKeys, useKeys } from "../../shell/keys";

const route = getRouteApi("/datasets/$dataset");

function focusRow(id: string | undefined): void {
  const row = id === undefined ? null : document.querySelector(`tr[data-key="${CSS.escape(id)}"]`);
  row?.querySelector<HTMLElement>("button")?.focus({ preventScroll: true });
}

/** A list of examples that is gone through by keys; the one that is open stands in the address. */
export function useExampleKeys(items: readonly { id: string }[]) {
  const { example } = route.useSearch();
  const navigate = useNavigate({ from: "/datasets/$dataset" });
  const [current, setCurrent] = useState(example);
  const open = (id: string | undefined) => {
    if (id !== undefined) setCurrent(id);
    else focusRow(current); // whoever closed it goes on in the list
    return navigate({ search: (before) => ({ ...before, example: id }), replace: true, resetScroll: false });
  };
  const at = items.findIndex((one) => one.id === current);
  const move = (by: 1 | -1) => {
    const to = items[Math.min(items.length - 1, Math.max(0, at + by))]?.id;
    setCurrent(to);
    if (example && to) void open(to);
  };
  useKeys([
    ...stepKeys("example", move),
    ...(current ? [{ keys: "Enter", what: "Open the example", run: () => void open(current) }] : []),
    ...(example ? [{ keys: "Escape", what: "Close the example", run: () => void open(undefined) }] : []),
  ]);
  return { current, open };
}
