import styles from "./facts.module.css";

/** Figures that stand side by side, each below its name. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: React.ReactNode])[] }) {
  return (
    <dl className={styles.facts}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
