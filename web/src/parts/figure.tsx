import { Link } from "@tanstack/react-router";
import styles from "./figure.module.css";

interface FigureProps {
  to: string;
  /** What the address asks for, where `to` has none of it. */
  search?: object;
  of: string;
  children: React.ReactNode;
}

/** A number, and the way to what it counts: a figure is never a bare value. `to`: the address of its cells. */
export function Figure({ to, search, of, children }: FigureProps) {
  return (
    <Link className={styles.figure} to={to} search={search as never} title={`Show the ${of}`} data-figure={of}>
      {children}
    </Link>
  );
}
