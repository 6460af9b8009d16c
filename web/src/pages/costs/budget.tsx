import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api } from "../../api/client";
import { told } from "../../api/problem";
import { cost } from "../../design/numbers";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { Field } from "../../parts/field";
import { Form } from "../../parts/form";
import styles from "./costs.module.css";

const NANO = 1_000_000_000;
const LABEL = "USD a month";
/** More than the server can count in nano-dollars. */
const MOST_USD = 1_000_000_000;

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
  const [refused, setRefused] = useState<string>();
  const submit = async (data: FormData) => {
    const text = String(data.get("usd")).trim();
    const why = refusal(text);
    setRefused(why);
    if (why !== undefined) throw new Error(why);
    await set.mutateAsync(text === "" ? null : Math.round(Number(text) * NANO));
  };
  return (
    <Dialog title="Budget of a month" close={close}>
      <p>
        Calls that could pass it are refused before anything is sent. 0 refuses every call that costs anything. Empty:
        no budget.
      </p>
      <Form send={submit} className={styles.form}>
        <Field
          label={LABEL}
          name="usd"
          type="number"
          min={0}
          step="0.01"
          defaultValue={month === null ? "" : month / NANO}
          error={refused ?? told(set.error, { month_nano: LABEL })}
        />
        <Button type="submit" kind="primary" disabled={set.isPending}>
          Set
        </Button>
      </Form>
    </Dialog>
  );
}

/** Why an amount can't be a budget; nothing of one that can. */
export function refusal(text: string): string | undefined {
  const usd = Number(text);
  if (usd < 0 || (usd > 0 && usd < 0.01)) return `${LABEL}: 0, or $0.01 or more.`;
  return usd > MOST_USD ? `${LABEL}: ${cost(MOST_USD * NANO)} at most.` : undefined;
}
