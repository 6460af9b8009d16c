import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { providers } from "../../api/administration";
import { answered, api } from "../../api/client";
import { told } from "../../api/problem";
import { secrets } from "../../api/secrets";
import { Button } from "../../parts/button";
import { Field } from "../../parts/field";
import { Form } from "../../parts/form";
import { Failed, Loading } from "../../parts/states";
import { Time } from "../../parts/time";
import styles from "./settings.module.css";

/** Which providers there are, and this tenant's keys for them. A key is written and never shown. */
export function ProviderKeys({ may, looks }: { may: boolean; looks: boolean }) {
  const client = useQueryClient();
  const known = useQuery(providers);
  const kept = useQuery({ ...secrets, enabled: looks });
  const put = useMutation({
    mutationFn: ({ name, value }: { name: string; value: string }) =>
      answered(api.PUT("/api/v1/secrets/{name}", { params: { path: { name } }, body: { value } })),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ["secrets"] });
      void client.invalidateQueries({ queryKey: ["providers"] });
    },
  });
  if (known.error) return <Failed error={known.error} retry={() => known.refetch()} />;
  if (known.data === undefined) return <Loading what="providers" />;
  const set = new Map(kept.data?.items.map((one) => [one.name, one]));
  return (
    <>
      {put.error && <p role="alert">{told(put.error, { value: `New value of ${put.variables.name}` })}</p>}
      <ul className={styles.providers}>
        {known.data.items.map((one) => (
          <li key={one.name}>
            <h3>{one.name}</h3>
            <p className="muted data">
              {one.wires.join(", ")}
              {one.address && (
                <>
                  {" "}
                  · <code>{one.address}</code>
                </>
              )}
            </p>
            {one.keys.length === 0 && <p className="data">It needs no key.</p>}
            {one.keys.map((name) => {
              const secret = set.get(name);
              return (
                <Form
                  key={name}
                  className={styles.secretRow}
                  send={(data) => put.mutateAsync({ name, value: String(data.get("value")) })}
                >
                  <span className="data">
                    <code>{name}</code>{" "}
                    {secret?.set_at ? (
                      <>
                        set <Time at={secret.set_at} />
                      </>
                    ) : one.keys_set.includes(name) ? (
                      "set by the server's operator"
                    ) : (
                      "not set"
                    )}
                  </span>
                  {may && (
                    <>
                      <Field label={`New value of ${name}`} name="value" type="password" autoComplete="off" required />
                      <Button type="submit" disabled={put.isPending}>
                        Set
                      </Button>
                    </>
                  )}
                </Form>
              );
            })}
          </li>
        ))}
      </ul>
    </>
  );
}
