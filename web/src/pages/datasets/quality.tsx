import { useQuery } from "@tanstack/react-query";
import { datasetQuality } from "../../api/data";
import type { DatasetQuality, FieldCoverage, Lengths } from "../../api/schema";
import { count, counted, percent, UNKNOWN } from "../../design/numbers";
import { words } from "../../design/outcomes";
import { Asked } from "../../parts/asked";
import { Figure } from "../../parts/figure";
import { Section } from "../../parts/section";
import { Empty } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import styles from "./dataset.module.css";

interface Counted {
  examples: number;
  query: string | null;
}

/** What to know of a version before numbers on it are trusted; each count leads to the examples that it counts. */
export function Quality({ reference }: { reference: string }) {
  const asked = useQuery(datasetQuality(reference));
  return (
    <Asked query={asked} what="the version's quality" rows={20}>
      {(seen) => (
        <>
          <p className={styles.hint}>
            Counted over all {counted(seen.examples, "example")}. A count leads to the examples that it counts.
          </p>
          <div className={styles.pairs}>
            <Section title="Examples to look at">
              <Flaws seen={seen} reference={reference} />
            </Section>
            <Section title="Expected outputs">
              <Kinds seen={seen} reference={reference} />
            </Section>
            <Section title="Splits">
              <Splits seen={seen} reference={reference} />
            </Section>
            <Section title="Lengths in characters">
              <Characters seen={seen} />
            </Section>
          </div>
          <Section title="Fields">
            <Fields seen={seen} reference={reference} />
          </Section>
        </>
      )}
    </Asked>
  );
}

interface Of {
  seen: DatasetQuality;
  reference: string;
}

interface Flaw {
  what: string;
  of: (Counted & { inputs?: number }) | null;
}

function Flaws({ seen, reference }: Of) {
  const rows: Flaw[] = [
    { what: "No expected output", of: seen.without_expected },
    { what: "Empty input", of: seen.empty_inputs },
    { what: "Duplicate input", of: seen.duplicates },
    { what: "Contradictory expected outputs", of: seen.contradictions },
    { what: "Input in more than one split", of: seen.leaks },
  ];
  const columns: readonly Column<Flaw>[] = [
    { name: "What", cell: (one) => one.what },
    {
      name: "Examples",
      kind: "number",
      cell: ({ what, of }) =>
        of === null ? (
          <span className="muted">{UNKNOWN} no two splits</span>
        ) : (
          <Share one={of} all={seen.examples} reference={reference} of={what.toLowerCase()} />
        ),
    },
    { name: "Inputs", kind: "number", cell: ({ of }) => (of?.inputs === undefined ? "" : count(of.inputs)) },
  ];
  return <Table caption="Examples to look at" columns={columns} rows={rows} keyOf={(one) => one.what} />;
}

function Splits({ seen, reference }: Of) {
  if (seen.splits.length === 0)
    return (
      <Empty command={{ needs: "datasets:write", text: `proctor dataset split ${reference} train=0.8 test=0.2` }}>
        {NO_SPLITS}
      </Empty>
    );
  const columns: readonly Column<DatasetQuality["splits"][number]>[] = [
    { name: "Split", cell: (one) => one.split },
    { name: "Examples", kind: "number", cell: (one) => <Shared part={one.size} all={seen.examples} /> },
    {
      name: "With an input of another split",
      kind: "number",
      cell: (one) => <Share one={one} all={one.size} reference={reference} of={`examples of ${one.split} that leak`} />,
    },
  ];
  return <Table caption="Splits" columns={columns} rows={seen.splits} keyOf={(one) => one.split} />;
}

const NO_SPLITS = "This version has no splits.";

function Kinds({ seen, reference }: Of) {
  if (seen.kinds.length === 0) return <Empty>No example says what is expected.</Empty>;
  const columns: readonly Column<DatasetQuality["kinds"][number]>[] = [
    { name: "Kind", cell: (one) => (one.kind === "json" ? "other JSON" : words(one.kind)) },
    {
      name: "Examples",
      kind: "number",
      cell: (one) => <Share one={one} all={seen.examples} reference={reference} of={`expects ${words(one.kind)}`} />,
    },
  ];
  return <Table caption="Expected outputs" columns={columns} rows={seen.kinds} keyOf={(one) => one.kind} />;
}

function Characters({ seen }: { seen: DatasetQuality }) {
  const rows: { what: string; of: Lengths }[] = [
    { what: "Input", of: seen.input_characters },
    { what: "Expected output", of: seen.expected_characters },
  ];
  const number = (value: number | null) => (value === null ? UNKNOWN : count(value));
  const columns: readonly Column<(typeof rows)[number]>[] = [
    { name: "What", cell: (one) => one.what },
    { name: "Examples", kind: "number", cell: ({ of }) => <Shared part={of.examples} all={seen.examples} /> },
    { name: "Min", kind: "number", cell: ({ of }) => number(of.min) },
    { name: "Median", kind: "number", cell: ({ of }) => number(of.median) },
    { name: "p95", kind: "number", cell: ({ of }) => number(of.p95) },
    { name: "Max", kind: "number", cell: ({ of }) => number(of.max) },
  ];
  return <Table caption="Lengths in characters" columns={columns} rows={rows} keyOf={(one) => one.what} />;
}

function Fields({ seen, reference }: Of) {
  const told = seen.fields.filter((one) => one.is_metadata).length;
  const columns: readonly Column<FieldCoverage>[] = [
    { name: "Field", cell: (one) => one.name },
    {
      name: "Examples",
      kind: "number",
      cell: (one) => <Share one={one} all={seen.examples} reference={reference} of={`examples with ${one.name}`} />,
    },
    { name: "Different values", kind: "number", cell: (one) => count(one.values) },
    { name: "Most common", cell: (one) => <Common of={one} reference={reference} /> },
  ];
  return (
    <>
      <Table
        caption="Fields"
        columns={columns}
        rows={seen.fields}
        keyOf={(one) => `${one.is_metadata ? "metadata." : ""}${one.name}`}
      />
      {told < seen.metadata_fields && (
        <p className="muted">
          {count(told)} of {counted(seen.metadata_fields, "field")} of the metadata, those that most examples have.
        </p>
      )}
    </>
  );
}

function Common({ of, reference }: { of: FieldCoverage; reference: string }) {
  const [first] = of.common;
  if (first === undefined) return <span className="muted">{UNKNOWN}</span>;
  if (of.values > 1 && first.examples === 1) return <span className="muted">each in one example</span>;
  return (
    <ul className={styles.common}>
      {of.common.map((one, at) => (
        <li key={one.value ?? `long ${at}`}>
          <span>{valueWords(one.value)}</span>{" "}
          <Lead one={one} reference={reference} of={`${of.name} ${one.value ?? ""}`} />
        </li>
      ))}
    </ul>
  );
}

/** A value as it can be seen: blanks alone in quotation marks. */
function valueWords(value: string | null): React.ReactNode {
  if (value === null) return "a long text";
  if (value === "") return "an empty text";
  return <bdi>{value.trim() === "" ? JSON.stringify(value) : value}</bdi>;
}

interface ShareProps {
  one: Counted;
  all: number;
  reference: string;
  of: string;
}

/** `12 of 1,204 · 1.0%`, the count a way to those examples. */
function Share({ one, all, reference, of }: ShareProps) {
  return (
    <>
      <Lead one={one} reference={reference} of={of} /> of {count(all)}
      <Percent part={one.examples} all={all} />
    </>
  );
}

function Shared({ part, all }: { part: number; all: number }) {
  return (
    <>
      {count(part)} of {count(all)}
      <Percent part={part} all={all} />
    </>
  );
}

function Percent({ part, all }: { part: number; all: number }) {
  return <span className={styles.percent}>{all === 0 ? UNKNOWN : percent(part / all)}</span>;
}

/** A count that leads to what it counts, where that is something that can be asked for. */
function Lead({ one, reference, of }: { one: Counted; reference: string; of: string }) {
  if (one.examples === 0 || one.query === null) return count(one.examples);
  return (
    <Figure to={`/datasets/${encodeURIComponent(reference)}`} search={{ q: one.query }} of={of}>
      {count(one.examples)}
    </Figure>
  );
}
