import styles from "./more.module.css";

interface MoreProps {
  expand: () => void;
  /** All that can be shown is: the button stays, so that the focus does, and says what is left. */
  expanded?: boolean;
  children: React.ReactNode;
}

/** Shows the rest of what is cut. */
export function More({ expand, expanded, children }: MoreProps) {
  return (
    <button type="button" className={styles.more} onClick={expand} aria-disabled={expanded || undefined}>
      {children}
    </button>
  );
}
