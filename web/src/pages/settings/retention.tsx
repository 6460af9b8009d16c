import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { retention } from "../../api/administration";
import { answered, api } from "../../api/client";
import { told } from "../../api/problem";
import { count } from "../../design/numbers";
import { Button } from "../../parts/button";
import { Facts } from "../../parts/facts";
import { Field } from "../../parts/field";
import { Form } from "../../parts/form";
import { Failed, Loading } from "../../parts/states";
import styles from "./settings.module.css";

const LABELS = { result_days: "Days of results", rollup_days: "Days of daily sums" };

/** How long results of jobs are kept that nobody asked to keep. */
export function RetentionForm({ may }: { may: boolean }) {
  const client = useQueryClient();
  const asked = useQuery(retention);
  const set = useMutation({
    mutationFn: (body: { result_days: number; rollup_days: number }) =>
      answered(api.PUT("/api/v1/retention", { body })),
    onSuccess: (now) => client.setQueryData(retention.queryKey, now),
  });
  if (asked.error) return <Failed error={asked.error} retry={() => asked.refetch()} />;
  if (asked.data === undefined) return <Loading what="retention" rows={3} />;
  const submit = (data: FormData) =>
    set.mutateAsync({ result_days: Number(data.get("result_days")), rollup_days: Number(data.get("rollup_days")) });
  const { result_days: results, rollup_days: rollups } = asked.data;
  if (!may) {
    return (
      <>
        <About />
        <Facts
          facts={[
            [LABELS.result_days, count(results)],
            [LABELS.rollup_days, count(rollups)],
          ]}
        />
      </>
    );
  }
  return (
    <Form send={submit} className={styles.form} key={`${results} ${rollups}`}>
      <About />
      <Field label={LABELS.result_days} name="result_days" type="number" min={1} defaultValue={results} required />
      <Field
        label={LABELS.rollup_days}
        name="rollup_days"
        type="number"
        min={1}
        defaultValue={rollups}
        required
        error={told(set.error, LABELS)}
      />
      <Button type="submit" kind="primary" disabled={set.isPending}>
        Set
      </Button>
      {set.isSuccess && (
        <p role="status" className="muted">
          Set.
        </p>
      )}
    </Form>
  );
}

function About() {
  return (
    <p>
      Results of jobs that are not kept by name are removed after so many days; their daily sums stay for longer. A job
      under a legal hold stays, whatever is set here.
    </p>
  );
}
