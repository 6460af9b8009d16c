import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { examples } from "../../api/data";
import type { ListedExample } from "../../api/schema";
import { Asked } from "../../parts/asked";
import { Button } from "../../parts/button";
import { Field } from "../../parts/field";
import { focusFilter } from "../../parts/find-by-name";
import { Pager } from "../../parts/pager";
import { Empty } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { Value } from "../../parts/value";
import { useKeys } from "../../shell/keys";
import styles from "./dataset.module.css";

const route = getRouteApi("/datasets/$dataset");

/** The examples, filtered by what they are labelled with; one of them whole beside the list. */
export function Examples({ reference }: { reference: string }) {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/datasets/$dataset" });
  const { tags, difficulty, from, q, cursor, example } = search;
  const asked = useQuery(examples(reference, { tags, difficulty, from_source: from, words: q, cursor }));
  const isFiltered = Boolean(tags || difficulty || from || q);
  const open = (id: string | undefined) =>
    navigate({ search: (before) => ({ ...before, example: id }), replace: true, resetScroll: false });
  useKeys([
    {
      keys: "/",
      what: "Find words",
      run: focusFilter,
    },
  ]);
  const columns: readonly Column<ListedExample>[] = [
    {
      name: "Id",
      cell: (one) => (
        <Button kind="link" onClick={() => open(one.id)}>
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
  const submit = (data: FormData) => {
    const said = (name: string) => String(data.get(name)).trim() || undefined;
    void navigate({
      search: {
        q: said("q"),
        tags: said("tags")?.split(/\s*,\s*/),
        difficulty: said("difficulty"),
        from: said("from"),
      },
    });
  };
  return (
    <>
      <form action={submit} className={styles.filters} key={JSON.stringify([q, tags, difficulty, from])}>
        <Field label="Words" name="q" type="search" data-filter defaultValue={q} maxLength={200} />
        <Field label="Tags" name="tags" defaultValue={tags?.join(", ")} />
        <Field label="Difficulty" name="difficulty" defaultValue={difficulty} />
        <Field label="Source" name="from" defaultValue={from} />
        <Button type="submit">Filter</Button>
        {isFiltered && <Button onClick={() => navigate({ search: {} })}>clear</Button>}
      </form>
      <Asked query={asked} what="examples" rows={16}>
        {({ items, next }) =>
          items.length === 0 ? (
            <Empty>{isFiltered ? "No example fits this filter." : "This version has no examples."}</Empty>
          ) : (
            <div className={example ? styles.beside : undefined}>
              <div>
                <Table caption="Examples" columns={columns} rows={items} keyOf={(one) => one.id} current={example} />
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
    </>
  );
}

function Whole({ one, close }: { one: ListedExample | undefined; close: () => void }) {
  if (one === undefined) return null;
  return (
    <aside className={styles.drawer} aria-label={`Example ${one.id}`}>
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
