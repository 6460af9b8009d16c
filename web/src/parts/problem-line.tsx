import { Problem } from "../api/problem";
import styles from "./problem-line.module.css";

/** Why something was not done, and what helps. */
export function ProblemLine({ error }: { error: Error }) {
  const remedy = error instanceof Problem ? error.remedy : null;
  return (
    <p role="alert" className={styles.problem}>
      {error.message} {remedy && <span className="muted">{remedy}</span>}
    </p>
  );
}
