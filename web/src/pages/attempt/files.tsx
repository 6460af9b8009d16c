import { useQuery } from "@tanstack/react-query";
import { fetched } from "../../api/files";
import { bytes, count } from "../../design/numbers";
import { Button } from "../../parts/button";
import { Table } from "../../parts/table";
import type { Artifact, Attempt } from "./documents";
import { Artifacts } from "./evidence";
import styles from "./files.module.css";
import { filesOfTar, type TarFile } from "./tar";

/** A larger state is not fetched for its list: it can be downloaded. */
const LARGEST_LISTED = 64_000_000;
const MOST_LISTED = 500;

/** What was kept of an attempt: its artifacts, and the files of the state that the agent left. */
export function Files({ attempt }: { attempt: Attempt }) {
  const { id, artifacts } = attempt.attempt;
  const state = artifacts.find((one) => one.name === "state.tar");
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section className={styles.files} tabIndex={0} aria-label="Files">
      <h2>Artifacts</h2>
      <Artifacts attempt={id} artifacts={artifacts} />
      <h2>What the agent left</h2>
      {state ? <State attempt={id} state={state} /> : <p className="muted">No state was kept.</p>}
    </section>
  );
}

function State({ attempt, state }: { attempt: string; state: Artifact }) {
  const asked = useQuery({
    queryKey: ["attempt", attempt, "state", state.sha256],
    queryFn: async ({ signal }) => {
      const answer = await fetched(`/api/v1/attempts/${attempt}/artifacts/state.tar`, signal);
      return filesOfTar(new Uint8Array(await answer.arrayBuffer()));
    },
    enabled: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (state.size > LARGEST_LISTED)
    return <p className="muted">It is {bytes(state.size)}: download it to look inside.</p>;
  if (asked.error) return <p role="alert">{asked.error.message}</p>;
  if (asked.data === undefined) {
    return (
      <Button onClick={() => asked.refetch()} disabled={asked.isFetching}>
        {asked.isFetching ? "…" : `List its files (${bytes(state.size)})`}
      </Button>
    );
  }
  const files = asked.data;
  return (
    <>
      <p className="muted">
        {count(files.length)} entries{files.length > MOST_LISTED && `, the first ${MOST_LISTED} of which are shown`}
      </p>
      <Table
        caption="Files of the state"
        rows={files.slice(0, MOST_LISTED)}
        keyOf={(file: TarFile) => `${file.at}`}
        columns={[
          { name: "Name", cell: (file) => <code>{file.name}</code> },
          { name: "Kind", cell: (file) => file.kind },
          { name: "Size", kind: "number", cell: (file) => (file.kind === "file" ? bytes(file.size) : "") },
          { name: "Mode", cell: (file) => <code>{file.mode}</code> },
        ]}
      />
    </>
  );
}
