import { useId } from "react";
import { Button } from "./button";
import styles from "./section.module.css";

/** A part of a page with its title, and what changes it beside that. `id`: what an address leads to it by. */
export function Section({
  title,
  tools,
  id,
  children,
}: {
  title: string;
  tools?: React.ReactNode;
  id?: string;
  children: React.ReactNode;
}) {
  const heading = useId();
  return (
    <section className={styles.section} id={id} aria-labelledby={heading}>
      <div className={styles.head}>
        <h2 id={heading}>{title}</h2>
        {tools && <span className={styles.tools}>{tools}</span>}
      </div>
      {children}
    </section>
  );
}

/**
 * Parts one below the other, each of which is seen when all above it have come: nothing moves below what grows. They
 * are asked for at once all the same.
 */
export function Settling({ className = "", children }: { className?: string; children: React.ReactNode }) {
  return <div className={`${styles.settling} ${className}`}>{children}</div>;
}

/** A page's title, and what is done with all of it. */
export function PageHead({ title, tools }: { title: React.ReactNode; tools?: React.ReactNode }) {
  return (
    <header className={styles.head}>
      <h1>{title}</h1>
      {tools && <span className={styles.tools}>{tools}</span>}
    </header>
  );
}

/** What is shown is not all: how much of it, and the way back. */
export function Filtered({ words, clear, children }: { words: string; clear: () => void; children?: React.ReactNode }) {
  return (
    <p className={styles.filtered} role="status">
      {words}
      <Button onClick={clear}>clear (Esc)</Button>
      {children}
    </p>
  );
}
