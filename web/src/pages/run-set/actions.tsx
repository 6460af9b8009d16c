import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api } from "../../api/client";
import { useMay } from "../../api/permitted";
import type { RunSetRow } from "../../api/schema";
import { counted } from "../../design/numbers";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { Field } from "../../parts/field";
import { useKeys } from "../../shell/keys";
import styles from "./run-set.module.css";

/** Pause, resume, cancel: each says what it did, and when. */
export function Actions({ row }: { row: RunSetRow }) {
  const client = useQueryClient();
  const [asks, setAsks] = useState(false);
  const [said, setSaid] = useState("");
  const path = { params: { path: { run_set: row.id } } };
  const done = (words: string) => {
    setSaid(`${words}, ${new Date().toLocaleTimeString("en-GB")}`);
    void client.invalidateQueries({ queryKey: ["run-set"] });
    void client.invalidateQueries({ queryKey: ["run-sets"] });
  };
  const pause = useMutation({
    mutationFn: () => answered(api.POST("/api/v1/run-sets/{run_set}/pause", path)),
    onSuccess: () => done("paused: what runs is finished"),
  });
  const resume = useMutation({
    mutationFn: () => answered(api.POST("/api/v1/run-sets/{run_set}/resume", path)),
    onSuccess: (answer) => done(`${counted(answer.queued, "cell")} queued`),
  });
  const cancel = useMutation({
    mutationFn: () => answered(api.POST("/api/v1/run-sets/{run_set}/cancel", path)),
    onSuccess: () => done("cancelled"),
  });
  const may = useMay("runs:write");
  const running = row.state === "running";
  const act = running ? () => pause.mutate() : () => resume.mutate();
  useKeys(!may || row.state === "complete" ? [] : [{ keys: "p", what: running ? "Pause" : "Resume", run: act }]);
  if (!may) return null;
  const problem = pause.error ?? resume.error ?? cancel.error;
  return (
    <div className={styles.actions}>
      {problem && <span role="alert">{problem.message}</span>}
      {!problem && said && (
        <span role="status" className="muted">
          {said}
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
