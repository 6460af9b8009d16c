import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api } from "../../api/client";
import { useMay } from "../../api/permitted";
import { Problem } from "../../api/problem";
import type { RunSetRow } from "../../api/schema";
import { counted } from "../../design/numbers";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { Field } from "../../parts/field";
import { Time } from "../../parts/time";
import { useKeys } from "../../shell/keys";
import styles from "./run-set.module.css";

/** Pause, resume, cancel: each says what it did, and when. `since`: as of when the row is. */
export function Actions({ row, since }: { row: RunSetRow; since: number }) {
  const client = useQueryClient();
  const [asks, setAsks] = useState(false);
  const { said, setSaid } = useSaid(row.state);
  const path = { params: { path: { run_set: row.id } } };
  const done = (words: string, then: RunSetRow["state"]) => {
    setSaid({ words, at: new Date().toISOString(), then });
    void client.invalidateQueries({ queryKey: ["run-set"] });
    void client.invalidateQueries({ queryKey: ["run-sets"] });
  };
  const pause = useMutation({
    mutationFn: () => answered(api.POST("/api/v1/run-sets/{run_set}/pause", path)),
    onSuccess: () => done("paused: what runs now goes on to its end", "paused"),
  });
  const resume = useMutation({
    mutationFn: () => answered(api.POST("/api/v1/run-sets/{run_set}/resume", path)),
    onSuccess: (answer) => done(`${counted(answer.queued, "cell")} queued`, "running"),
  });
  const cancel = useMutation({
    mutationFn: () => answered(api.POST("/api/v1/run-sets/{run_set}/cancel", path)),
    onSuccess: () => done("cancelled", "cancelled"),
  });
  const may = useMay("runs:write");
  const running = row.state === "running";
  const act = running ? () => pause.mutate() : () => resume.mutate();
  useKeys(!may || row.state === "complete" ? [] : [{ keys: "p", what: running ? "Pause" : "Resume", run: act }]);
  if (!may) return null;
  const problem = [pause, resume, cancel].find((one) => one.error && !isOver(one.error, one.submittedAt, since))?.error;
  return (
    <div className={styles.actions}>
      {problem && <span role="alert">{problem.message}</span>}
      {!problem && said && (
        <span role="status" className="muted">
          {said.words}, <Time at={said.at} exact />
        </span>
      )}
      {row.state !== "complete" && (
        <Button kind="primary" onClick={act} disabled={pause.isPending || resume.isPending}>
          {running ? "Pause" : "Resume"}
        </Button>
      )}
      {(running || row.state === "paused") && <Button onClick={() => setAsks(true)}>Cancel…</Button>}
      {asks && (
        <Confirm
          name={row.name}
          close={() => setAsks(false)}
          confirmed={() => {
            setAsks(false);
            cancel.mutate();
          }}
        />
      )}
    </div>
  );
}

/** That the server could not be reached is over when it has been. */
function isOver(error: Error, asked: number, since: number): boolean {
  return error instanceof Problem && error.isPassing && since > asked;
}

interface Said {
  words: string;
  at: string;
  /** What the run set is by it. */
  then: RunSetRow["state"];
}

/** What was done here, until the run set is something else again. */
function useSaid(state: RunSetRow["state"]) {
  const [said, setSaid] = useState<Said | null>(null);
  const [reached, setReached] = useState<Said | null>(null);
  if (said !== null && said !== reached && state === said.then) setReached(said);
  if (said !== null && said === reached && state !== said.then) setSaid(null);
  return { said, setSaid };
}

function Confirm({ name, close, confirmed }: { name: string; close: () => void; confirmed: () => void }) {
  const [typed, setTyped] = useState("");
  return (
    <Dialog title={`Cancel ${name}?`} close={close}>
      <p>What runs is ended. Cells without a verdict stay owed; verdicts stay. It can be resumed later.</p>
      <Field
        label={`Type ${name} to cancel it`}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        autoFocus
      />
      <div className={styles.actions}>
        <Button onClick={close}>Keep it</Button>
        <Button kind="danger" disabled={typed !== name} onClick={confirmed}>
          Cancel the run set
        </Button>
      </div>
    </Dialog>
  );
}
