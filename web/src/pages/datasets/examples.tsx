import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useId } from "react";
import type { Page } from "../../api/client";
import { exampleCount, examples } from "../../api/data";
import { Problem } from "../../api/problem";
import type { ListedExample } from "../../api/schema";
import { count, counted } from "../../design/numbers";
import { Asked } from "../../parts/asked";
import { Button } from "../../parts/button";
import { Field } from "../../parts/field";
import { focusFilter } from "../../parts/find-by-name";
import { Pager } from "../../parts/pager";
import { QueryForm } from "../../parts/query-form";
import { useRevealed } from "../../parts/revealed";
import { Empty } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { Value } from "../../parts/value";
import { useKeys } from "../../shell/keys";
import styles from "./dataset.module.css";
import { useExampleKeys } from "./example-keys";

const route = getRouteApi("/datasets/$dataset");
const MOST_CHARACTERS = 1000; // as the API has it

/** The examples, found by words and by what they are labelled with; `all`: how many the version has. */
export function Examples({ reference, all }: { reference: string; all: number }) {
  const navigate = useNavigate({ from: "/datasets/$dataset" });
  const { tags, difficulty, from, q, cursor, example } = route.useSearch();
  const filter = { tags, difficulty, from_source: from, query: q, cursor };
  const asked = useQuery(examples(reference, filter));
  const malformed = asked.error instanceof Problem && asked.error.isOf("query") ? asked.error : null;
  const isFiltered = Boolean(tags || difficulty || from || q);
  const isWhole = cursor === undefined && asked.data?.next === null;
  const counting = useQuery({
    ...exampleCount(reference, filter),
    enabled: isFiltered && asked.data !== undefined && !isWhole,
  });
  const [hint, wrong] = [useId(), useId()];
  useKeys([
    {
      keys: "/",
      what: "Search",
      run: focusFilter,
    },
    ...(isFiltered && !example
      ? [{ keys: "Escape", what: "Show all examples", run: () => void navigate({ search: {} }) }]
      : []),
  ]);
  const ask = (typed: (name: string) => string | undefined) =>
    void navigate({
      search: {
        q: typed("q"),
        tags: typed("tags")?.split(/\s*,\s*/),
        difficulty: typed("difficulty"),
        from: typed("from"),
      },
    });
  return (
    <>
      <QueryForm said={{ q, tags: tags?.join(), difficulty, from }} ask={ask} className={styles.filters}>
        <div className={styles.search}>
          <Field
            label="Search"
            name="q"
            type="search"
            data-filter
            defaultValue={q}
            maxLength={MOST_CHARACTERS}
            placeholder="text or segment=gift"
            aria-describedby={malformed ? `${wrong} ${hint}` : hint}
            aria-invalid={malformed ? true : undefined}
          />
        </div>
        <Field label="Tags" name="tags" defaultValue={tags?.join(", ")} />
        <Field label="Difficulty" name="difficulty" defaultValue={difficulty} />
        <Field label="Source" name="from" defaultValue={from} />
        <Button type="submit">Filter</Button>
        {isFiltered && <Button onClick={() => navigate({ search: {} })}>clear</Button>}
      </QueryForm>
      <p id={hint} className={styles.hint}>
        Words of the id, input or expected output. A field: <code>segment=gift</code>, any value <code>segment=*</code>,
        blanks <code>note="a b"</code>. Left out: <code>-tag=late</code>.
      </p>
      {malformed ? (
        <p id={wrong} className={styles.malformed} role="alert">
          Search: {malformed.message} <span className="muted">{malformed.remedy}</span>
        </p>
      ) : (
        <Listed
          asked={asked}
          all={all}
          fit={isWhole ? asked.data?.items.length : counting.data?.fit}
          isFiltered={isFiltered}
        />
      )}
    </>
  );
}

interface ListedProps {
  asked: UseQueryResult<Page<ListedExample>>;
  all: number;
  /** How many there are in all that fit; not known yet: `undefined`. */
  fit: number | undefined;
  isFiltered: boolean;
}

/** A page of them, one of them whole beside the list. */
function Listed({ asked, all, fit, isFiltered }: ListedProps) {
  const navigate = useNavigate({ from: "/datasets/$dataset" });
  const { cursor, example } = route.useSearch();
  const { current, open } = useExampleKeys(asked.data?.items ?? []);
  const columns: readonly Column<ListedExample>[] = [
    {
      name: "Id",
      cell: (one) => (
        <Button kind="link" title={one.id} onClick={() => open(one.id)}>
          {one.id}
        </Button>
      ),
    },
    { name: "Input", cell: (one) => <Value of={one.input} inline /> },
    { name: "Expected", cell: (one) => <Value of={one.expected} inline /> },
    { name: "Difficulty", cell: (one) => one.difficulty ?? "" },
    { name: "Source", cell: (one) => one.source ?? "" },
    { name: "Tags", cell: (one) => one.tags.join(", ") },
  ];
  return (
    <Asked query={asked} what="examples" rows={16}>
      {({ items, next }) =>
        items.length === 0 ? (
          <Empty>
            {isFiltered
              ? `None of ${counted(all, "example")} fits. Quality lists the fields that they have, and what they say.`
              : "This version has no examples."}
          </Empty>
        ) : (
          <div className={example ? styles.beside : undefined}>
            <div>
              <p className="muted data" role="status">
                {shown(items, all, isFiltered ? fit : all)}
              </p>
              <Table caption="Examples" columns={columns} rows={items} keyOf={(one) => one.id} current={current} />
              <Pager
                cursor={cursor}
                next={next}
                go={(to) => navigate({ search: (before) => ({ ...before, cursor: to }) })}
                words={{ first: "First", next: "Next" }}
              />
            </div>
            {example && <Whole one={items.find((one) => one.id === example)} close={() => open(undefined)} />}
          </div>
        )
      }
    </Asked>
  );
}

/** How many fit, of how many, and how many of them stand here. */
function shown(items: readonly ListedExample[], all: number, fit: number | undefined) {
  const total = counted(all, "example");
  const here = `${count(items.length)} shown`;
  if (fit === undefined) return `${here} of those that fit · ${total} in all`;
  if (fit === all) return `${count(items.length)} of ${total} shown`;
  const fits = `${count(fit)} of ${total} ${fit === 1 ? "fits" : "fit"}`;
  return fit === items.length ? fits : `${fits} · ${here}`;
}

function Whole({ one, close }: { one: ListedExample | undefined; close: () => void }) {
  const drawer = useRevealed(one?.id);
  if (one === undefined) return null;
  return (
    <aside ref={drawer} className={styles.drawer} aria-label={`Example ${one.id}`}>
      <header className={styles.head}>
        <h2>{one.id}</h2>
        <Button onClick={close}>Close</Button>
      </header>
      <h3>Input</h3>
      <Value of={one.input} />
      <h3>Expected</h3>
      <Value of={one.expected} />
      {one.metadata && (
        <>
          <h3>Metadata</h3>
          <Value of={one.metadata} />
        </>
      )}
      <p className="muted data">
        row {one.position} · sha256 <code>{one.digest.slice(0, 12)}</code>
      </p>
    </aside>
  );
}
