import { useMay } from "../api/permitted";
import type { Permission } from "../api/schema";
import { Forbidden } from "./states";

interface PermittedProps {
  needs: Permission;
  title: string;
  children: React.ReactNode;
}

/** A page for whoever may have it: all others are told whose it is, and see none of its controls. */
export function Permitted({ needs, title, children }: PermittedProps) {
  if (useMay(needs)) return children;
  return (
    <>
      <h1>{title}</h1>
      <Forbidden needs={needs} />
    </>
  );
}
