import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "../../api/administration";
import { answered, api } from "../../api/client";
import { told } from "../../api/problem";
import type { ApiKey, Me } from "../../api/schema";
import { Asked } from "../../parts/asked";
import { Button } from "../../parts/button";
import { Copy } from "../../parts/copy";
import { Dialog } from "../../parts/dialog";
import { Field } from "../../parts/field";
import { Form } from "../../parts/form";
import { type Column, Table } from "../../parts/table";
import { Time } from "../../parts/time";
import styles from "./settings.module.css";

/** Keys: one is shown once, with what to do with it. */
export function Keys({ me }: { me: Me }) {
  const client = useQueryClient();
  const asked = useQuery(keys);
  const [made, setMade] = useState<string | null>(null);
  const [revoking, setRevoking] = useState<ApiKey | null>(null);
  const again = () => client.invalidateQueries({ queryKey: ["keys"] });
  const create = useMutation({
    mutationFn: (name: string) => answered(api.POST("/api/v1/keys", { body: { name } })),
    onSuccess: (issued) => {
      setMade(issued.secret);
      void again();
    },
  });
  const columns: readonly Column<ApiKey>[] = [
    { name: "Name", cell: (one) => one.name },
    { name: "Prefix", cell: (one) => <code>{one.prefix}</code> },
    { name: "Scopes", cell: (one) => one.scopes?.join(", ") ?? "all of its user's role" },
    { name: "Made", cell: (one) => <Time at={one.created_at} /> },
    { name: "Used", cell: (one) => (one.last_used_at ? <Time at={one.last_used_at} /> : "never") },
    { name: "Expires", cell: (one) => (one.expires_at ? <Time at={one.expires_at} /> : "never") },
    {
      name: "",
      cell: (one) =>
        one.revoked_at ? (
          <span className="muted">revoked</span>
        ) : (
          <Button kind="danger" aria-label={`Revoke ${one.name}…`} onClick={() => setRevoking(one)}>
            Revoke…
          </Button>
        ),
    },
  ];
  return (
    <>
      <p className="muted data">
        {me.permissions.includes("users:write")
          ? "The keys of everybody in this tenant. One that you create is your own, and may do what you may."
          : "These are your own keys, and may do what you may."}
      </p>
      <Form send={(data) => create.mutateAsync(String(data.get("name")))} className={styles.row}>
        <Field
          label="New key, for"
          name="name"
          required
          maxLength={100}
          placeholder="laptop"
          error={told(create.error, { name: "New key, for" })}
        />
        <Button type="submit" kind="primary" disabled={create.isPending}>
          Create key
        </Button>
      </Form>
      <Asked query={asked} what="keys">
        {({ items }) => (
          <Table caption={`Keys that ${me.name} may see`} columns={columns} rows={items} keyOf={(one) => one.id} />
        )}
      </Asked>
      {made !== null && <Made secret={made} close={() => setMade(null)} />}
      {revoking && <Revoke one={revoking} close={() => setRevoking(null)} done={again} />}
    </>
  );
}

function Made({ secret, close }: { secret: string; close: () => void }) {
  const call = `curl -H "Authorization: Bearer ${secret}" ${globalThis.location.origin}/api/v1/me`;
  return (
    <Dialog title="This key is shown this once" close={close} stays>
      <code className={styles.secret} data-secret>
        {secret}
      </code>
      <div className={styles.row}>
        <Copy text={() => secret}>Copy</Copy>
      </div>
      <p>It works at once:</p>
      <pre className={styles.secret}>{call}</pre>
      <Button kind="primary" onClick={close}>
        I have kept it
      </Button>
    </Dialog>
  );
}

function Revoke({ one, close, done }: { one: ApiKey; close: () => void; done: () => void }) {
  const [typed, setTyped] = useState("");
  const revoke = useMutation({
    mutationFn: () => answered(api.DELETE("/api/v1/keys/{key}", { params: { path: { key: one.id } } })),
    onSuccess: () => {
      done();
      close();
    },
  });
  return (
    <Dialog title={`Revoke ${one.name}?`} close={close}>
      <p>Whatever uses it is refused from now on. It can't be taken back.</p>
      <Field
        label={`Type ${one.name} to revoke it`}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        error={revoke.error?.message}
      />
      <div className={styles.row}>
        <Button onClick={close}>Keep it</Button>
        <Button kind="danger" disabled={typed !== one.name || revoke.isPending} onClick={() => revoke.mutate()}>
          Revoke
        </Button>
      </div>
    </Dialog>
  );
}
