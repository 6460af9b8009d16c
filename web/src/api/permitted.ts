import { useQuery } from "@tanstack/react-query";
import { me } from "./queries";
import type { Permission, Role } from "./schema";

/** Whether whoever is signed in may do something: no control is shown that the server would refuse. */
export function useMay(permission: Permission): boolean {
  return useQuery(me).data?.permissions.includes(permission) ?? false;
}

/** The weakest first: each may what those before it may. */
export const ROLES: readonly Role[] = ["viewer", "reviewer", "member", "admin", "owner"];

/** The weakest role that may do something, as the server has it (`proctor.identity.permissions`); `null`: none of a tenant. */
const WEAKEST: Record<Permission, Role | null> = {
  self: "viewer",
  "runs:read": "viewer",
  "evidence:read": "viewer",
  "suites:read": "viewer",
  "datasets:read": "viewer",
  "evaluators:read": "viewer",
  "results:write": "reviewer",
  "suites:write": "member",
  "datasets:write": "member",
  "evaluators:write": "member",
  "runs:write": "member",
  "usage:read": "member",
  "secrets:read": "member",
  "logs:read": "member",
  "users:read": "admin",
  "users:write": "admin",
  "audit:read": "admin",
  "secrets:write": "admin",
  "tenant:write": "owner",
  platform: null,
};

export function isPermission(word: string): word is Permission {
  return word in WEAKEST;
}

/** The roles that may do something: none, where only administrators of the installation may. */
export function rolesWith(permission: Permission): readonly Role[] {
  const weakest = WEAKEST[permission];
  return weakest === null ? [] : ROLES.slice(ROLES.indexOf(weakest));
}

/** Who may do something: `members, admins and owners`. */
export function whoMay(permission: Permission): string {
  const roles = rolesWith(permission).map((one) => `${one}s`);
  if (roles.length === 0) return "administrators of the installation";
  if (roles.length === ROLES.length) return "everybody of the tenant";
  return new Intl.ListFormat("en-GB").format(roles);
}
