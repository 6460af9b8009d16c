import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { answered, api } from "../../api/client";
import { dataset, samples, suggestions } from "../../api/data";
import type { DatasetVersion, SampleSet, Suggestion } from "../../api/schema";
import { sent } from "../../api/sending";
import { cost, counted, percent } from "../../design/numbers";
import { Asked } from "../../parts/asked";
import { Button } from "../../parts/button";
import { Field, Select } from "../../parts/field";
import { useOnce } from "../../parts/form";
import page from "../../parts/form-page.module.css";
import { Permitted } from "../../parts/permitted";
import { ProblemLine } from "../../parts/problem-line";
import { contentOf, EMPTY, fileNameOf, type Source, SourceField, writtenIn } from "../../parts/source";
import { useTitle } from "../../parts/title";
import { draft } from "./draft";
import styles from "./evaluate.module.css";

const route = getRouteApi("/datasets/$dataset/evaluate");
const NEW = "";
/** Of a job: what only the command line changes. */
const USUAL = { repeats: 1, band: "normal", keep: true } as const;

export function EvaluatePage() {
  const { dataset: reference } = route.useParams();
  useTitle("Evaluate", reference);
  const asked = useQuery(dataset(reference));
  return (
    <Permitted needs="runs:write" title={`Evaluate ${reference}`}>
      <Asked query={asked} what="the dataset" page={`Evaluate ${reference}`} rows={6}>
        {({ version }) => <Evaluate key={version.id} version={version} />}
      </Asked>
    </Permitted>
  );
}

/** Outputs of a version's examples, kept ones or ones that are sent now, are judged by evaluators. */
function Evaluate({ version }: { version: DatasetVersion }) {
  const navigate = useNavigate();
  const name = `${version.dataset}@${version.version}`;
  const kept = useQuery(samples(version.id));
  const fitting = useQuery(suggestions(name));
  const [set, setSet] = useState<string>();
  const [written] = useState(() => {
    const one = draft.read();
    return one?.version === version.id ? one : null; // what was written for another version is not for this
  });
  const [source, setSource] = useState<Source>(written ? { text: written.text } : EMPTY);
  const [label, setLabel] = useState(written?.name ?? "");
  const text = writtenIn(source);
  useEffect(() => {
    if (text || label) draft.keep({ version: version.id, name: label, text });
  }, [version.id, label, text]);
  const [picked, setPicked] = useState<readonly string[]>();
  const [told, setTold] = useState("");
  const chosen = picked ?? fitting.data?.slice(0, 1).map((one) => one.evaluator.reference) ?? [];
  const from = set ?? kept.data?.items[0]?.id ?? NEW;
  const evaluate = useMutation({
    mutationFn: async () => {
      const outputs = from === NEW ? await keepOutputs(name, label.trim(), source, setTold) : from;
      const body = { ...USUAL, dataset: name, samples: outputs, evaluators: [...chosen], name: label.trim() || null };
      return answered(api.POST("/api/v1/jobs", { body }));
    },
    onSuccess: (job) => {
      draft.forget();
      return navigate({ to: "/jobs/$job", params: { job: job.id } });
    },
  });
  const start = useOnce(evaluate.mutateAsync);
  const isSent = from !== NEW || (label.trim() !== "" && contentOf(source).size > 0);
  return (
    <div className={page.page}>
      <h1>Evaluate {name}</h1>
      <Outputs kept={kept.data?.items ?? []} from={from} choose={setSet} />
      {from === NEW && (
        <SourceField
          label="Outputs, a JSON object a line with the example's id: paste them, or drop a JSONL, CSV or Parquet file."
          source={source}
          accept=".jsonl,.json,.csv,.parquet"
          placeholder='{"id": "q1", "output": "Paris"}'
          change={setSource}
        />
      )}
      <Field
        label="Name"
        value={label}
        placeholder="gpt-baseline"
        required={from === NEW}
        hint={
          from === NEW ? "Of the outputs and of the job." : "Of the job; without one it takes the name of its outputs."
        }
        onChange={(event) => setLabel(event.target.value)}
      />
      <Asked query={fitting} what="evaluators that fit" rows={4}>
        {(found) => <Evaluators found={found} chosen={chosen} choose={setPicked} />}
      </Asked>
      {evaluate.error && <ProblemLine error={evaluate.error} />}
      <div className={page.actions}>
        <Button kind="primary" disabled={!isSent || chosen.length === 0 || evaluate.isPending} onClick={() => start()}>
          Evaluate
        </Button>
        <span className="muted" role="status">
          {evaluate.isPending && told}
        </span>
      </div>
    </div>
  );
}

/** The outputs' id, once the server has them. */
async function keepOutputs(dataset: string, name: string, source: Source, tell: (words: string) => void) {
  const query = { dataset, name, file: fileNameOf(source) };
  const made = await sent<{ samples: SampleSet }>({ path: "/api/v1/samples", query, content: contentOf(source), tell });
  return made.samples.id;
}

function Outputs({ kept, from, choose }: { kept: readonly SampleSet[]; from: string; choose: (set: string) => void }) {
  if (kept.length === 0) return null;
  const options = kept.map((one) => ({ value: one.id, label: `${one.name} · ${counted(one.rows, "example")}` }));
  return (
    <Select
      label="Outputs"
      value={from}
      options={[...options, { value: NEW, label: "others, sent now" }]}
      onChange={(event) => choose(event.target.value)}
    />
  );
}

interface EvaluatorsProps {
  found: readonly Suggestion[];
  chosen: readonly string[];
  choose: (chosen: readonly string[]) => void;
}

/** Those that fit what the examples expect, the best first. */
function Evaluators({ found, chosen, choose }: EvaluatorsProps) {
  const turn = (one: string) =>
    choose(chosen.includes(one) ? chosen.filter((other) => other !== one) : [...chosen, one]);
  return (
    <fieldset className={`${page.box} ${styles.evaluators}`}>
      <legend>Evaluators that fit, the best first</legend>
      {found.length === 0 && <p className="muted">None fits what these examples expect.</p>}
      {found.map(({ evaluator, fit, cost_nano, reasons }) => (
        <label key={evaluator.reference}>
          <input
            type="checkbox"
            checked={chosen.includes(evaluator.reference)}
            onChange={() => turn(evaluator.reference)}
          />
          <code>{evaluator.reference}</code>{" "}
          <span className="muted">
            fit {percent(fit)} · {cost(cost_nano)} in all · {reasons.join("; ")}
          </span>
        </label>
      ))}
    </fieldset>
  );
}
