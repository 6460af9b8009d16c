import { Link } from "@tanstack/react-router";
import type { AuditEntry } from "../../api/schema";
import { shortened } from "./detail";

/** What was acted on, by its name where one is known, and leading to its page where it has one. */
export function Target({ of, names }: { of: AuditEntry; names: ReadonlyMap<string, string> }) {
  const { action, target, detail } = of;
  const [kind] = action.split(".");
  const [name, dataset] = [detail.name, detail.dataset].map((one) => (typeof one === "string" && one ? one : null));
  if (action === "dataset.made" && dataset) return <ToDataset name={dataset} version={detail.version} />;
  if (action === "dataset.split") return <ToDataset name={target} />;
  const runSet = kind === "run-set" || action === "secret.refused" ? target : detail.run_set;
  if (typeof runSet === "string" && runSet) {
    return (
      <Link to="/run-sets/$runSet" params={{ runSet }} title={runSet}>
        {name ?? shortened(runSet)}
      </Link>
    );
  }
  if (kind === "job" || kind === "stream") {
    return (
      <Link to="/jobs/$job" params={{ job: target }} title={target}>
        {name ?? shortened(target)}
      </Link>
    );
  }
  return <span title={target}>{name ?? names.get(target) ?? shortened(target)}</span>;
}

function ToDataset({ name, version }: { name: string; version?: unknown }) {
  const reference = typeof version === "string" ? `${name}@${version}` : name;
  return (
    <Link to="/datasets/$dataset" params={{ dataset: reference }}>
      {reference}
    </Link>
  );
}
