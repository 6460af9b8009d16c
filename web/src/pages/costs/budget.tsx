import { useMutation, useQueryClient } from "@tanstack/react-query";
import { answered, api } from "../../api/client";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { Field } from "../../parts/field";
import styles from "./costs.module.css";

const NANO = 1_000_000_000;

/** The hard budget of a month: what is above it is not asked. */
export function BudgetDialog({ month, close }: { month: number | null; close: () => void }) {
  const client = useQueryClient();
  const set = useMutation({
    mutationFn: (month_nano: number | null) => answered(api.PUT("/api/v1/budget", { body: { month_nano } })),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ["allowance"] });
      close();
    },
  });
  const submit = (data: FormData) => {
    const text = String(data.get("usd")).trim();
    set.mutate(text === "" ? null : Math.round(Number(text) * NANO));
  };
  return (
    <Dialog title="Budget of a month" close={close}>
      <p>Calls that could pass it are refused before anything is sent. Empty: no budget.</p>
      <form action={submit} className={styles.form}>
        <Field
          label="USD a month"
          name="usd"
          type="number"
          min={0}
          step="0.01"
          defaultValue={month === null ? "" : month / NANO}
          error={set.error?.message}
        />
        <Button type="submit" kind="primary" disabled={set.isPending}>
          Set
        </Button>
      </form>
    </Dialog>
  );
}
