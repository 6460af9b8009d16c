import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { dataset, versions } from "../../api/data";
import { useMay } from "../../api/permitted";
import type { DatasetVersion } from "../../api/schema";
import { counted } from "../../design/numbers";
import { Asked } from "../../parts/asked";
import { Button } from "../../parts/button";
import { Select } from "../../parts/field";
import { Time } from "../../parts/time";
import { useTitle } from "../../parts/title";
import { useKeys } from "../../shell/keys";
import styles from "./dataset.module.css";
import { Diff } from "./diff";
import { Examples } from "./examples";
import { Lineage } from "./lineage";
import { Quality } from "./quality";
import { TABS, type Tab } from "./search";
import { UsedBy } from "./used-by";

const route = getRouteApi("/datasets/$dataset");
const WORDS: Record<Tab, string> = {
  examples: "Examples",
  diff: "Diff",
  lineage: "Lineage",
  jobs: "Used by",
  quality: "Quality",
};

/** One version: its examples, what changed since another, where it came from, what was made of it. */
export function DatasetPage() {
  const { dataset: reference } = route.useParams();
  const asked = useQuery(dataset(reference));
  useTitle("Dataset", reference);
  return (
    <Asked query={asked} what="the dataset" page={`Dataset ${reference}`} rows={12}>
      {({ version }) => <Version version={version} />}
    </Asked>
  );
}

/** How a version is asked for. */
export function nameOf(version: { dataset: string; version: string }): string {
  return `${version.dataset}@${version.version}`;
}

function Version({ version }: { version: DatasetVersion }) {
  const { tab = "examples" } = route.useSearch();
  const navigate = useNavigate({ from: "/datasets/$dataset" });
  const all = useQuery(versions(version.dataset));
  const may = useMay("runs:write");
  const open = (next: Tab) => navigate({ search: next === "examples" ? {} : { tab: next } });
  const go = (name: string) =>
    navigate({
      params: { dataset: `${version.dataset}@${name}` },
      // a page, an example and what it is compared against are those of this version
      search: (before) => ({ ...before, against: undefined, cursor: undefined, example: undefined }),
    });
  const known = all.data?.items ?? [];
  const step = () => {
    const at = known.findIndex((one) => one.version === version.version);
    const next = known[(at + 1) % Math.max(1, known.length)];
    if (next) void go(next.version);
  };
  useKeys([
    { keys: "v", what: "Next version", run: step },
    { keys: "d", what: "Differences", run: () => void open("diff") },
  ]);
  return (
    <>
      <header className={styles.head}>
        <h1>{version.dataset}</h1>
        {known.length > 1 && (
          <Select
            label="Version"
            value={version.version}
            options={known.map((one) => ({ value: one.version, label: one.version }))}
            onChange={(event) => go(event.target.value)}
          />
        )}
        <p className="muted data">
          {version.version} · {counted(version.rows, "example")} · sha256{" "}
          <code>{version.content_hash.slice(0, 12)}</code> · <Time at={version.created_at} />
        </p>
      </header>
      {may && (
        <p className={styles.command}>
          <Link to="/datasets/$dataset/evaluate" params={{ dataset: nameOf(version) }}>
            Evaluate this version…
          </Link>{" "}
          <code>proctor evaluate {nameOf(version)} --outputs outputs.jsonl -e exact-match</code>
        </p>
      )}
      <nav className={styles.tabs} aria-label="Of this version">
        {TABS.map((one) => (
          <Button key={one} aria-pressed={tab === one} onClick={() => open(one)}>
            {WORDS[one]}
          </Button>
        ))}
      </nav>
      {tab === "examples" && <Examples reference={nameOf(version)} all={version.rows} />}
      {tab === "diff" && <Diff version={version} known={known} />}
      {tab === "lineage" && <Lineage version={version} known={known} />}
      {tab === "jobs" && <UsedBy version={version} />}
      {tab === "quality" && <Quality reference={nameOf(version)} />}
    </>
  );
}
