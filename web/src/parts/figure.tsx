import { Link } from "@tanstack/react-router";
import styles from "./figure.module.css";

/** A number, and the way to what it counts: a figure is never a bare value. `to`: the address of its cells. */
export function Figure({ to, of, children }: { to: string; of: string; children: React.ReactNode }) {
  return (
    <Link className={styles.figure} to={to} title={`Show the ${of}`} data-figure={of}>
      {children}
    </Link>
  );
}
