import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { auditLog, users } from "../../api/administration";
import { save } from "../../api/files";
import { me } from "../../api/queries";
import type { Action, AuditEntry } from "../../api/schema";
import { Asked } from "../../parts/asked";
import { Button } from "../../parts/button";
import { Field, Select } from "../../parts/field";
import { Pager } from "../../parts/pager";
import { Permitted } from "../../parts/permitted";
import { PageHead } from "../../parts/section";
import { Empty, Loading } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { Time } from "../../parts/time";
import { useTitle } from "../../parts/title";
import { day } from "../../search";
import { useKeys } from "../../shell/keys";
import styles from "./audit.module.css";
import { detailOf, shortened } from "./detail";
import { Target } from "./target";

const route = getRouteApi("/audit");

const TITLE = "Audit log";

/** Every one that there is: a record, so that one that the server adds is missed by the compiler. */
const ACTIONS = Object.keys({
  "access.refused": 1,
  "alert.acknowledged": 1,
  "alert.taken-back": 1,
  "data.exported": 1,
  "data.imported": 1,
  "dataset.made": 1,
  "dataset.split": 1,
  "evaluator-rule.set": 1,
  "evaluator.registered": 1,
  "job.controlled": 1,
  "job.deleted": 1,
  "job.held": 1,
  "job.released": 1,
  "job.submitted": 1,
  "key.created": 1,
  "key.revoked": 1,
  "key.rotated": 1,
  "prompt.added": 1,
  "quota.set": 1,
  "retention.set": 1,
  "run-set.controlled": 1,
  "run-set.started": 1,
  "samples.deleted": 1,
  "samples.kept": 1,
  "secret.refused": 1,
  "secret.removed": 1,
  "secret.set": 1,
  "secrets.rewrapped": 1,
  "setup.done": 1,
  "stream.closed": 1,
  "stream.opened": 1,
  "tenant.created": 1,
  "user.changed": 1,
  "user.created": 1,
} satisfies Record<Action, 1>);

export function AuditPage() {
  useTitle(TITLE);
  return (
    <Permitted needs="audit:read" title={TITLE}>
      <AuditLog />
    </Permitted>
  );
}

/** Who did what, to what, when. */
function AuditLog() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const known = useQuery({ ...users, retry: false });
  const names = useMemo(() => new Map(known.data?.items.map((one) => [one.id, one.name])), [known.data]);
  const own = useQuery(me).data;
  const named = useMemo(() => new Map([...names, [own?.tenant ?? "", own?.tenant_name ?? ""]]), [names, own]);
  const { day: asDay, ...rest } = search;
  const since = day(asDay);
  const asked = useQuery(
    auditLog({ ...rest, action: search.action as Action | undefined, since: since && `${since}T00:00:00Z` }),
  );
  const columns: readonly Column<AuditEntry>[] = [
    { name: "When", cell: (one) => <Time at={one.at} /> },
    {
      name: "Who",
      cell: (one) => (one.actor ? (names.get(one.actor) ?? <code>{one.actor.slice(0, 8)}</code>) : "the server"),
    },
    { name: "Action", cell: (one) => one.action },
    { name: "Of what", cell: (one) => <Target of={one} names={named} /> },
    { name: "Detail", cell: (one) => <bdi title={detailOf(one, names)}>{detailOf(one, names)}</bdi> },
    { name: "Request", cell: (one) => <code>{one.request_id.slice(0, 8)}</code> },
  ];
  const rows = asked.data?.items ?? [];
  const isFiltered = Boolean(search.action || search.actor || since);
  useKeys(isFiltered ? [{ keys: "Escape", what: "Show all entries", run: () => void navigate({ search: {} }) }] : []);
  const people = [...names].map(([value, label]) => ({ value, label }));
  const actor = search.actor ?? "";
  const isKnown = actor === "" || names.has(actor);
  return (
    <>
      <PageHead
        title={TITLE}
        tools={
          <Button onClick={() => saveRows(rows)} disabled={rows.length === 0}>
            Export this page
          </Button>
        }
      />
      {known.isPending ? (
        <Loading what="the audit log" rows={16} />
      ) : (
        <>
          <div className={styles.filters}>
            <Select
              label="Action"
              value={search.action ?? ""}
              options={[{ value: "", label: "all" }, ...ACTIONS.map((one) => ({ value: one, label: one }))]}
              onChange={(event) =>
                navigate({
                  search: (before) => ({ ...before, cursor: undefined, action: event.target.value || undefined }),
                })
              }
            />
            <Select
              label="Who"
              value={actor}
              options={[
                { value: "", label: "all" },
                ...(isKnown ? [] : [{ value: actor, label: shortened(actor) }]),
                ...people,
              ]}
              onChange={(event) =>
                navigate({
                  search: (before) => ({ ...before, cursor: undefined, actor: event.target.value || undefined }),
                })
              }
            />
            <Field
              label="Since (UTC)"
              type="date"
              value={since ?? ""}
              max="9999-12-31"
              onChange={(event) =>
                navigate({
                  search: (before) => ({ ...before, cursor: undefined, day: event.target.value || undefined }),
                })
              }
            />
          </div>
          <Asked query={asked} what="the audit log" rows={16}>
            {({ items, next }) =>
              items.length === 0 ? (
                <Empty>Nothing was done that fits this filter.</Empty>
              ) : (
                <>
                  <Table
                    caption="Audit log, the newest first"
                    columns={columns}
                    rows={items}
                    keyOf={(one) => String(one.seq)}
                  />
                  <Pager
                    cursor={search.cursor}
                    next={next}
                    go={(to) => navigate({ search: (before) => ({ ...before, cursor: to }) })}
                  />
                </>
              )
            }
          </Asked>
        </>
      )}
    </>
  );
}

/** A file of what is on the page, an entry a line. */
function saveRows(rows: readonly AuditEntry[]): void {
  const lines = rows.map((one) => `${JSON.stringify(one)}\n`);
  save(new Blob(lines, { type: "application/x-ndjson" }), "audit-log.jsonl");
}
