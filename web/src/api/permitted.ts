import { useQuery } from "@tanstack/react-query";
import { me } from "./queries";
import type { Permission } from "./schema";

/** Whether whoever is signed in may do something: no control is shown that the server would refuse. */
export function useMay(permission: Permission): boolean {
  return useQuery(me).data?.permissions.includes(permission) ?? false;
}
