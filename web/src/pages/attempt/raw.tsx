import { useQuery } from "@tanstack/react-query";
import { download } from "../../api/files";
import { count } from "../../design/numbers";
import { Button } from "../../parts/button";
import { Failed, Loading } from "../../parts/states";
import { stepPage } from "./queries";
import styles from "./raw.module.css";

/** A step of the trajectory as the document has it (ATIF), and the whole as a file. */
export function Raw({ attempt, step, hasWhole }: { attempt: string; step: number; hasWhole: boolean }) {
  const asked = useQuery(stepPage(attempt, step, 1));
  const whole = hasWhole ? "artifacts/trajectory.json" : "trajectory";
  return (
    <div className={styles.frame}>
      <p className={styles.tools}>
        Step {count(step)} (ATIF), next with j
        <Button onClick={() => download(`/api/v1/attempts/${attempt}/${whole}`, `trajectory-${attempt}.json`)}>
          Download the whole trajectory
        </Button>
      </p>
      {asked.error ? (
        <Failed error={asked.error} retry={() => asked.refetch()} />
      ) : asked.data === undefined ? (
        <Loading what="the step" />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
        <pre className={styles.json} tabIndex={0}>
          {JSON.stringify(asked.data.items[0]?.step ?? null, null, 2)}
        </pre>
      )}
    </div>
  );
}
