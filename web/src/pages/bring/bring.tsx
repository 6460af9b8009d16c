import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { DatasetVersion } from "../../api/schema";
import { sent } from "../../api/sending";
import { count, counted } from "../../design/numbers";
import { Button } from "../../parts/button";
import { Field, Select } from "../../parts/field";
import { useOnce } from "../../parts/form";
import styles from "../../parts/form-page.module.css";
import { Permitted } from "../../parts/permitted";
import { ProblemLine } from "../../parts/problem-line";
import { contentOf, EMPTY, fileNameOf, type Source, SourceField, writtenIn } from "../../parts/source";
import { useTitle } from "../../parts/title";
import { draft } from "./draft";
import { formatOf, NAMED, type Naming, namingOf } from "./naming";
import type { Preview } from "./preview";
import { PreviewTable } from "./preview-table";
import { usePreview } from "./use-preview";

const TITLE = "Bring a dataset";
const LIST = new Intl.ListFormat("en-GB");

export function BringPage() {
  useTitle(TITLE);
  return (
    <Permitted needs="datasets:write" title={TITLE}>
      <Bring />
    </Permitted>
  );
}

/** What came, or would come, of the rows. */
interface Brought {
  dataset: string;
  label: string;
  made: boolean;
  rows: number;
  version: DatasetVersion | null;
  difference: { added: number; changed: number; removed: number; same: number } | null;
  left_out: number;
  problems: readonly { row: number; field: string; reason: string }[];
}

interface Wanted {
  name: string;
  source: Source;
  naming: Partial<Naming>;
}

/** Examples become a version: what would come of them, and the lines that are none, stand before the button. */
function Bring() {
  const navigate = useNavigate();
  const client = useQueryClient();
  const [kept] = useState(draft.read);
  const [name, setName] = useState(kept?.name ?? "");
  const [source, setSource] = useState<Source>(kept ? { text: kept.text } : EMPTY);
  const [chosen, setChosen] = useState<Partial<Naming>>(kept?.naming ?? {});
  useEffect(() => draft.keep({ name, text: writtenIn(source), naming: chosen }), [name, source, chosen]);
  const [told, setTold] = useState("");
  const preview = usePreview(source);
  const found = namingOf(preview);
  const naming = { ...found, ...chosen };
  const bring = (wanted: Wanted, more: Record<string, string>) =>
    sent<Brought>({
      path: "/api/v1/datasets/imports",
      query: { name: wanted.name, ...queryOf(wanted), ...more },
      content: contentOf(wanted.source),
      tell: setTold,
    });
  const look = useMutation({
    mutationFn: (wanted: Wanted) => bring(wanted, { dry_run: "true", skip_malformed: "true" }),
  });
  const keep = useMutation({
    mutationFn: (wanted: Wanted) => bring(wanted, look.data?.left_out ? { skip_malformed: "true" } : {}),
    onSuccess: async ({ dataset, label }) => {
      draft.forget();
      await client.invalidateQueries({ queryKey: ["datasets"] });
      return navigate({ to: "/datasets/$dataset", params: { dataset: `${dataset}@${label}` } });
    },
  });
  const start = useOnce(keep.mutateAsync);
  const changed = <T,>(set: (value: T) => void) => {
    return (value: T) => {
      set(value);
      look.reset();
      keep.reset();
    };
  };
  const change = changed((next: Source) => {
    setSource(next);
    if ("file" in next || "file" in source) setChosen({}); // other rows; who writes keeps what was chosen
  });
  const wanted = { name: name.trim(), source, naming: { ...seen(found), ...chosen } };
  const isBusy = look.isPending || keep.isPending;
  const isEmptyFile = "file" in source && source.file.size === 0;
  const examples = isEmptyFile ? `examples: ${source.file.name} is empty` : "examples";
  const missing = [
    wanted.name === "" && "a name",
    contentOf(source).size === 0 && examples,
    chosen.input === "" && "the field that is the input",
  ].filter(Boolean);
  const isReady = missing.length === 0 && !isBusy;
  return (
    <div className={styles.page}>
      <h1>{TITLE}</h1>
      <Field
        label="Name"
        name="name"
        value={name}
        placeholder="refunds"
        required
        hint="A name that is there gets another version."
        onChange={(event) => changed(setName)(event.target.value)}
      />
      <SourceField
        label="Examples, a JSON object a line: write them, paste them, or drop a JSONL, CSV or Parquet file here."
        source={source}
        accept=".jsonl,.ndjson,.csv,.parquet"
        placeholder='{"id": "q1", "input": "Capital of France?", "expected": "Paris"}'
        change={change}
      />
      {preview && (
        <>
          <PreviewTable preview={preview} />
          <Names naming={naming} preview={preview} change={changed((one) => setChosen({ ...chosen, ...one }))} />
        </>
      )}
      {[look, keep].map(({ error }) => error && <ProblemLine key={error.message} error={error} />)}
      <div className={styles.actions}>
        <Button onClick={() => look.mutate(wanted)} disabled={!isReady}>
          What would it bring?
        </Button>
        <Button kind="primary" onClick={() => start(wanted)} disabled={!isReady || !look.data}>
          {look.data?.left_out ? `Import without ${counted(look.data.left_out, "row")}` : "Import"}
        </Button>
        <span className="muted" role="status">
          {isBusy ? told : missing.length > 0 && `Missing: ${LIST.format(missing as string[])}.`}
        </span>
      </div>
      {look.data && <Verdict said={look.data} />}
    </div>
  );
}

function queryOf({ source, naming }: Wanted): Record<string, string | undefined> {
  const file = fileNameOf(source);
  return {
    file,
    format: formatOf(file),
    id_field: naming.id === "id" ? undefined : naming.id, // taken where it is there; a row may have none
    input_field: naming.input || undefined,
    expected_field: naming.expected,
  };
}

/** Only what was seen: what no row has so far is left to the server, and what was chosen to be none is not. */
function seen(naming: Naming): Partial<Naming> {
  return Object.fromEntries(Object.entries(naming).filter(([, name]) => name !== ""));
}

interface NamesProps {
  naming: Naming;
  preview: Preview;
  change: (naming: Partial<Naming>) => void;
}

/** What the rows call an example's parts. */
function Names({ naming, preview, change }: NamesProps) {
  const options = [
    { value: "", label: "—" },
    ...preview.fields.filter(({ name }) => name !== "").map(({ name }) => ({ value: name, label: name })),
  ];
  return (
    <div className={styles.actions}>
      {NAMED.map(({ part, label }) => (
        <Select
          key={part}
          label={label}
          options={options}
          value={naming[part]}
          onChange={(event) => change({ [part]: event.target.value })}
        />
      ))}
    </div>
  );
}

function Verdict({ said }: { said: Brought }) {
  const { difference } = said;
  return (
    <section className={styles.box} aria-label="Before it is imported">
      <h2>
        {said.made ? `${said.dataset}@${said.label}, a new version` : `${said.dataset}@${said.label} holds the same`}
      </h2>
      <p>
        {counted(said.rows, "example")}
        {difference &&
          `: +${count(difference.added)} −${count(difference.removed)} ~${count(difference.changed)} against the newest version`}
      </p>
      {said.left_out > 0 && (
        <>
          <p>{counted(said.left_out, "row is no example", "rows are no examples")}:</p>
          <ul className={styles.reasons}>
            {said.problems.map((one) => (
              <li key={`${one.row} ${one.field}`}>
                row {count(one.row)}
                {one.field && `, ${one.field}`}: {one.reason}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
