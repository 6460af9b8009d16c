import { useQuery } from "@tanstack/react-query";
import { me } from "./queries";
import type { Permission } from "./schema";

/** Whether whoever is signed in may do something: no control is shown that the server would refuse. */
export function useMay(permission: Permission): boolean {
  return useQuery(me).data?.permissions.includes(permission) ?? false;
}

const ANYBODY = "everybody of the tenant";
const REVIEWERS = "reviewers, members, admins and owners";
const MEMBERS = "members, admins and owners";
const ADMINS = "admins and owners";

/** Which roles may do what, as the server has it (`proctor.identity.permissions`). */
export const WHO_MAY: Record<Permission, string> = {
  self: ANYBODY,
  "runs:read": ANYBODY,
  "evidence:read": ANYBODY,
  "suites:read": ANYBODY,
  "datasets:read": ANYBODY,
  "evaluators:read": ANYBODY,
  "results:write": REVIEWERS,
  "suites:write": MEMBERS,
  "datasets:write": MEMBERS,
  "evaluators:write": MEMBERS,
  "runs:write": MEMBERS,
  "usage:read": MEMBERS,
  "secrets:read": MEMBERS,
  "logs:read": MEMBERS,
  "users:read": ADMINS,
  "users:write": ADMINS,
  "audit:read": ADMINS,
  "secrets:write": ADMINS,
  "tenant:write": "owners",
  platform: "administrators of the installation",
};
