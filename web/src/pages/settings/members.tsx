import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { users } from "../../api/administration";
import { answered, api } from "../../api/client";
import { ROLES } from "../../api/permitted";
import { told } from "../../api/problem";
import type { Role, User } from "../../api/schema";
import { Asked } from "../../parts/asked";
import { Button } from "../../parts/button";
import { Field, Select } from "../../parts/field";
import { Form } from "../../parts/form";
import { type Column, Table } from "../../parts/table";
import { Time } from "../../parts/time";
import styles from "./settings.module.css";

const LABEL = "E-mail, or the name of a service account";

/** Who is of this tenant, and what each may do. `may`: whether it may be changed; owners are only by an owner. */
export function Members({ may, mine }: { may: boolean; mine: Role }) {
  const roles = ROLES.filter((one) => one !== "owner" || mine === "owner");
  const mayChange = (one: User) => may && roles.includes(one.role);
  const client = useQueryClient();
  const asked = useQuery(users);
  const again = () => client.invalidateQueries({ queryKey: ["users"] });
  const add = useMutation({
    mutationFn: (body: { name: string; role: Role; kind: "person" | "service" }) =>
      answered(api.POST("/api/v1/users", { body })),
    onSuccess: again,
  });
  const change = useMutation({
    mutationFn: ({ user, body }: { user: User; body: { role?: Role; disabled?: boolean } }) =>
      answered(
        api.PATCH("/api/v1/users/{user}", {
          params: { path: { user: user.id }, header: { "if-match": `"${user.version}"` } },
          body,
        }),
      ),
    onSettled: again,
  });
  const submit = (data: FormData) => {
    const name = String(data.get("name")).trim();
    return add.mutateAsync({ name, role: data.get("role") as Role, kind: name.includes("@") ? "person" : "service" });
  };
  const columns: readonly Column<User>[] = [
    { name: "Name", cell: (one) => one.name },
    { name: "Kind", cell: (one) => one.kind },
    {
      name: "Role",
      cell: (one) =>
        mayChange(one) ? (
          <select
            className={styles.role}
            aria-label={`Role of ${one.name}`}
            value={one.role}
            onChange={(event) => change.mutate({ user: one, body: { role: event.target.value as Role } })}
          >
            {roles.map((role) => (
              <option key={role}>{role}</option>
            ))}
          </select>
        ) : (
          one.role
        ),
    },
    { name: "Since", cell: (one) => <Time at={one.created_at} /> },
    {
      name: "",
      cell: (one) =>
        mayChange(one) ? (
          <Button
            aria-label={`${one.disabled_at == null ? "Disable" : "Enable"} ${one.name}`}
            onClick={() => change.mutate({ user: one, body: { disabled: one.disabled_at == null } })}
          >
            {one.disabled_at == null ? "Disable" : "Enable"}
          </Button>
        ) : one.disabled_at == null ? (
          ""
        ) : (
          "disabled"
        ),
    },
  ];
  return (
    <>
      {may && (
        <Form send={submit} className={styles.row}>
          <Field label={LABEL} name="name" required error={told(add.error, { name: LABEL })} />
          <Select
            label="Role"
            name="role"
            options={roles.map((one) => ({ value: one, label: one }))}
            defaultValue="member"
          />
          <Button type="submit" kind="primary" disabled={add.isPending}>
            Add
          </Button>
        </Form>
      )}
      {change.error && <p role="alert">{change.error.message}</p>}
      <Asked query={asked} what="members">
        {({ items }) => <Table caption="Members" columns={columns} rows={items} keyOf={(one) => one.id} />}
      </Asked>
    </>
  );
}
