import { Problem } from "../api/problem";
import styles from "./problem-line.module.css";
import { Told } from "./told";

/** Why something was not done, and what helps. */
export function ProblemLine({ error }: { error: Error }) {
  const [place, remedy] = error instanceof Problem ? [error.place, error.remedy] : [null, null];
  return (
    <p role="alert" className={styles.problem}>
      {place && (
        <>
          <code>{place}</code>:{" "}
        </>
      )}
      <Told text={error.message} />{" "}
      {remedy && (
        <span className="muted">
          <Told text={remedy} />
        </span>
      )}
    </p>
  );
}
