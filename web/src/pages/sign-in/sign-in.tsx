import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Problem, told } from "../../api/problem";
import { me } from "../../api/queries";
import { setUp, signIn } from "../../api/session";
import { Button } from "../../parts/button";
import { Field } from "../../parts/field";
import { Form } from "../../parts/form";
import { useTitle } from "../../parts/title";
import styles from "./sign-in.module.css";

const TENANT_RULE = "lower-case letters, digits and hyphens, a letter or digit first";

/** The way in: an API key, or the one-time link that a new server prints. `isOver`: one was in until now. */
export function SignIn({ isOver = false }: { isOver?: boolean }) {
  const token = globalThis.location.pathname === "/setup" ? globalThis.location.hash.slice(1) : "";
  return token ? <SetUp token={token} /> : <WithKey isOver={isOver} />;
}

function WithKey({ isOver }: { isOver: boolean }) {
  useTitle("Sign in");
  const client = useQueryClient();
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  async function submit(data: FormData) {
    setBusy(true);
    setProblem("");
    try {
      client.setQueryData(me.queryKey, await signIn(String(data.get("key")).trim()));
    } catch (error) {
      setProblem((error as Error).message);
    } finally {
      setBusy(false);
    }
  }
  return (
    <main className={styles.page}>
      <h1>Proctor</h1>
      {isOver && <p role="status">Your key no longer opens this server: it was revoked, or its time is over.</p>}
      <form action={submit} className={styles.form}>
        <Field label="API key" name="key" type="password" autoComplete="current-password" required error={problem} />
        <Button type="submit" kind="primary" disabled={busy}>
          Sign in
        </Button>
      </form>
      <p className="muted">
        A key is what <code>proctor key create NAME</code> prints, or what an admin gave you. It is kept in a cookie
        that no page can read, and is gone when you sign out.
      </p>
    </main>
  );
}

function SetUp({ token }: { token: string }) {
  useTitle("Set up");
  const client = useQueryClient();
  const [problem, setProblem] = useState<Error | null>(null);
  const [key, setKey] = useState<string | null>(null);
  async function submit(data: FormData) {
    setProblem(null);
    try {
      const founded = await setUp(token, String(data.get("tenant")), String(data.get("owner")));
      setKey(founded.issued.secret);
    } catch (error) {
      setProblem(error as Error);
      throw error; // the form keeps what was typed
    }
  }
  async function enter() {
    try {
      const who = await signIn(key ?? "");
      globalThis.history.replaceState(null, "", "/run-sets");
      client.setQueryData(me.queryKey, who);
    } catch (error) {
      setProblem(error as Error);
    }
  }
  const isOfTenant = problem instanceof Problem && problem.isOf("tenant");
  if (key !== null) {
    return (
      <main className={styles.page}>
        <h1>This is your key</h1>
        <p>It is shown this once. Keep it where you keep passwords.</p>
        <code className={styles.key}>{key}</code>
        {problem && <p role="alert">{problem.message}</p>}
        <Button kind="primary" onClick={enter}>
          I have kept it: go on
        </Button>
      </main>
    );
  }
  return (
    <main className={styles.page}>
      <h1>Set up this server</h1>
      <Form send={submit} className={styles.form}>
        <Field
          label="Tenant"
          name="tenant"
          pattern="[a-z0-9][a-z0-9\-]*"
          maxLength={63}
          title={`Only ${TENANT_RULE}`}
          hint={`Only ${TENANT_RULE}`}
          required
          error={isOfTenant ? `Tenant: only ${TENANT_RULE}.` : undefined}
        />
        <Field
          label="Owner's e-mail"
          name="owner"
          type="email"
          required
          error={isOfTenant ? undefined : told(problem, { owner: "Owner's e-mail" })}
        />
        <Button type="submit" kind="primary">
          Set up
        </Button>
      </Form>
    </main>
  );
}
