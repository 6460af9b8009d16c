import { Button } from "./button";
import styles from "./pager.module.css";

interface PagerProps {
  cursor: string | undefined;
  next: string | null;
  go: (cursor: string | undefined) => void;
  words?: { first: string; next: string };
}

/** To the first page of a list, and to the next. */
export function Pager({ cursor, next, go, words = { first: "Newest", next: "Older" } }: PagerProps) {
  if (cursor === undefined && next === null) return null;
  return (
    <nav className={styles.pages} aria-label="Pages">
      <Button disabled={cursor === undefined} onClick={() => go(undefined)}>
        {words.first}
      </Button>
      <Button disabled={next === null} onClick={() => next !== null && go(next)}>
        {words.next}
      </Button>
    </nav>
  );
}
