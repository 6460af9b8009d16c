import { Link } from "@tanstack/react-router";
import type { AuditEntry } from "../../api/schema";
import { shortened } from "./detail";

/** What was acted on, by its name where one is known, and leading to its page where it has one. */
export function Target({ of, users }: { of: AuditEntry; users: ReadonlyMap<string, string> }) {
  const { action, target, detail } = of;
  const [kind] = action.split(".");
  const [name, dataset] = [detail.name, detail.dataset].map((one) => (typeof one === "string" && one ? one : null));
  if (action === "dataset.made" && dataset) return <ToDataset reference={dataset} />;
  if (action === "dataset.split") return <ToDataset reference={target} />;
  if (kind === "run-set" || action === "secret.refused") {
    return (
      <Link to="/run-sets/$runSet" params={{ runSet: target }} title={target}>
        {name ?? shortened(target)}
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
  return <span title={target}>{users.get(target) ?? shortened(target)}</span>;
}

function ToDataset({ reference }: { reference: string }) {
  return (
    <Link to="/datasets/$dataset" params={{ dataset: reference }}>
      {reference}
    </Link>
  );
}
