import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { allowance } from "../../api/administration";
import { answered, api } from "../../api/client";
import type { DryRun } from "../../api/schema";
import { suites } from "../../api/suites";
import { cost, count, counted, duration } from "../../design/numbers";
import { Button } from "../../parts/button";
import { Facts } from "../../parts/facts";
import { useOnce } from "../../parts/form";
import styles from "../../parts/form-page.module.css";
import { Permitted } from "../../parts/permitted";
import { ProblemLine } from "../../parts/problem-line";
import { EMPTY, type Source, SourceField } from "../../parts/source";
import { useTitle } from "../../parts/title";
import { draft } from "./draft";
import { creationOf, scriptsNamed, textsOf, type Written } from "./file";

const TITLE = "Launch a run set";

export function LaunchPage() {
  useTitle("Launch");
  return (
    <Permitted needs="runs:write" title={TITLE}>
      <Launch />
    </Permitted>
  );
}

/** Start a run set from its file: what it would take, and whether it can be compared, come before the button. */
function Launch() {
  const navigate = useNavigate();
  const known = useQuery(suites);
  const suite = known.data?.items[0];
  const [kept] = useState(draft.read);
  const [written, setWritten] = useState(kept?.text ?? null);
  const file = written ?? templateOf(suite?.aliases?.[0] ?? suite?.suite_id.slice(0, 12));
  const [named, setNamed] = useState(() => scriptsNamed(file) ?? []);
  const [scripts, setScripts] = useState<Written["scripts"]>(() => sourcesOf(kept?.scripts));
  const whole = useMemo(() => ({ text: file, scripts }), [file, scripts]);
  const rehearse = useMutation({
    mutationFn: async (one: Written) =>
      answered(api.POST("/api/v1/run-sets/rehearsal", { body: await creationOf(one) })),
  });
  const launch = useMutation({
    mutationFn: async (one: Written) => answered(api.POST("/api/v1/run-sets", { body: await creationOf(one) })),
    onSuccess: ({ run_set: row }) => {
      draft.forget();
      return navigate({ to: "/run-sets/$runSet", params: { runSet: row.id } });
    },
  });
  const start = useOnce(launch.mutateAsync);
  const changed = () => {
    rehearse.reset();
    launch.reset();
  };
  const change = (text: string) => {
    setWritten(text);
    setNamed((before) => scriptsNamed(text) ?? before);
    void keep({ text, scripts });
    changed();
  };
  const changeScript = (name: string, source: Source) => {
    const next = { ...scripts, [name]: source };
    setScripts(next);
    void keep({ text: file, scripts: next });
    changed();
  };
  const drop = async (event: React.DragEvent) => {
    const [dropped] = event.dataTransfer.files;
    if (!dropped) return;
    event.preventDefault();
    change(await dropped.text());
  };
  const problem = launch.error ?? rehearse.error;
  const ready = rehearse.data !== undefined && rehearse.variables === whole;
  return (
    <div className={styles.page}>
      <h1>{TITLE}</h1>
      <label htmlFor="file">
        Its file, as TOML: write it, paste it, or drop it here.{" "}
        <span className="muted">docs/reference/run-set-file.md</span>
      </label>
      <textarea
        id="file"
        className={styles.text}
        spellCheck={false}
        rows={18}
        value={file}
        onChange={(event) => change(event.target.value)}
        onDragOver={(event) => event.preventDefault()}
        onDrop={drop}
      />
      {named.map((name) => (
        <SourceField
          key={name}
          label={`Script ${name}`}
          source={scripts[name] ?? EMPTY}
          accept=""
          placeholder="What the scripted agent does: paste it, drop it, or choose the file"
          change={(source) => changeScript(name, source)}
        />
      ))}
      {problem && <ProblemLine error={problem} />}
      <div className={styles.actions}>
        <Button onClick={() => rehearse.mutate(whole)} disabled={rehearse.isPending}>
          {rehearse.isPending ? "Looking…" : "What would it take?"}
        </Button>
        <Button kind="primary" disabled={!ready || launch.isPending} onClick={() => start(whole)}>
          {rehearse.data?.existing ? "Go on with it" : "Launch"}
        </Button>
      </div>
      {ready && rehearse.data && <Verdict said={rehearse.data} />}
    </div>
  );
}

function sourcesOf(texts: Readonly<Record<string, string>> = {}): Written["scripts"] {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, { text }]));
}

async function keep({ text, scripts }: Written): Promise<void> {
  draft.keep({ text, scripts: await textsOf(scripts) });
}

function Verdict({ said }: { said: DryRun }) {
  const may = useQuery(allowance);
  const budget = may.data?.quota.budget_month_nano ?? null;
  const left = budget === null || may.data === undefined ? null : budget - may.data.used.cost_month_nano;
  return (
    <section className={styles.box} aria-label="Before it is launched">
      <h2>{said.comparable ? "Comparable: yes" : "Not comparable"}</h2>
      <ul className={styles.reasons}>
        {[...said.reasons, ...said.moved.map((one) => `moved since: ${one}`), ...said.remarks].map((one) => (
          <li key={one}>{one}</li>
        ))}
        {said.missing_secrets.map((one) => (
          <li key={one}>the secret {one} is not set: Settings, Providers</li>
        ))}
        {said.malformed.map((one) => (
          <li key={one}>malformed: {one}</li>
        ))}
      </ul>
      <Facts facts={factsOf(said, left)} />
    </section>
  );
}

function factsOf(said: DryRun, left: number | null): [string, string][] {
  return [
    ["Cells", count(said.expected)],
    ["Decided already", count(said.decided) + (said.reused > 0 ? `, ${count(said.reused)} of them before` : "")],
    ["To be queued", counted(said.queued, "cell")],
    ["Costs at most", cost(said.worst_case_nano)],
    ["Takes about", said.queued ? `${duration(said.expected_sec)}, at most ${duration(said.at_most_sec)}` : "no time"],
    ...(left === null ? [] : [["Left of the month", cost(left)] as [string, string]]),
  ];
}

function templateOf(suite: string | undefined): string {
  return `name = "nightly"
suite = "${suite ?? "LABEL OR ID OF A SUITE"}"
trials = 1

[[profiles]]
name = "oracle"
agent = "oracle"

[[profiles]]
name = "noop"
agent = "noop"
`;
}
