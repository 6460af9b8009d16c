import { lookOf, tokenOf, words } from "../design/outcomes";
import styles from "./glyph.module.css";

/** The sign of a class, in the ink of its place. */
export function Glyph({ name, size = 12 }: { name: string; size?: number }) {
  return (
    <svg className={styles.glyph} width={size} height={size} viewBox="0 0 12 12" aria-hidden="true">
      <path d={lookOf(name).glyph} />
    </svg>
  );
}

/** Glyph and word on the tint of the class's owner; never one without the other. */
export function Chip({ name, children }: { name: string; children?: React.ReactNode }) {
  const group = lookOf(tokenOf(name)).group;
  return (
    <span className={styles.chip} data-group={group} data-class={name}>
      <Glyph name={name} />
      <span>{words(name)}</span>
      {children}
    </span>
  );
}
