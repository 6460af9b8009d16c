import { ROLES, rolesWith } from "../../api/permitted";
import type { Permission, Role } from "../../api/schema";
import { type Column, Table } from "../../parts/table";

type OfTenant = Exclude<Permission, "platform">;

/** What a permission lets one do; those of a tenant, in the order in which roles gain them. */
const DOES: Record<OfTenant, string> = {
  self: "See who one is, and keep one's own keys",
  "runs:read": "See run sets, leaderboards, attempts, comparisons and health",
  "evidence:read": "See logs and artifacts of attempts, and export them",
  "suites:read": "See suites",
  "datasets:read": "See and export datasets with their examples",
  "evaluators:read": "See evaluators, jobs and results",
  "results:write": "Grade again, classify by another policy, import results",
  "suites:write": "Import and label suites",
  "datasets:write": "Import datasets, and make versions and splits of them",
  "evaluators:write": "Register evaluators and try them",
  "runs:write": "Start, pause, resume and cancel run sets and jobs: it spends money",
  "usage:read": "See costs, budgets and quotas",
  "secrets:read": "See the names of secrets; nobody sees a value",
  "logs:read": "See the platform's own log lines",
  "users:read": "See members",
  "users:write": "Add members, change their roles, revoke anybody's keys",
  "audit:read": "See and export the audit log",
  "secrets:write": "Set and remove secrets, also of providers",
  "tenant:write": "Set budgets and retention of the tenant",
};
const PERMISSIONS = Object.keys(DOES) as OfTenant[];

/** Which role may do what. `mine`: the role of whoever looks. */
export function Roles({ mine }: { mine: Role }) {
  const columns: readonly Column<OfTenant>[] = [
    { name: "Permission", cell: (one) => <code>{one}</code> },
    ...ROLES.map((role) => ({
      name: role === mine ? `${role} (you)` : role,
      cell: (one: OfTenant) => (rolesWith(one).includes(role) ? "yes" : <span className="muted">no</span>),
    })),
    { name: "Lets one", cell: (one) => DOES[one] },
  ];
  return (
    <>
      <p className="muted">
        A key may do what its user's role may at that moment, or the part that it was narrowed to.
      </p>
      <Table caption="What each role may do" columns={columns} rows={PERMISSIONS} keyOf={(one) => one} />
    </>
  );
}
