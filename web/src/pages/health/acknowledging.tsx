/** Saying that a need is seen, by whom and until when, and taking that back. Nothing is shown before the server has it. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { acknowledgements } from "../../api/administration";
import { answered, api, type Page } from "../../api/client";
import { told } from "../../api/problem";
import type { Acknowledgement } from "../../api/schema";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { Field, Select } from "../../parts/field";
import { Form, useOnce } from "../../parts/form";
import { Time } from "../../parts/time";
import styles from "./health.module.css";
import type { Need } from "./needs";

const HOURS = [
  { value: "1", label: "1 hour" },
  { value: "8", label: "8 hours" },
  { value: "24", label: "24 hours" },
  { value: "168", label: "a week" },
];
const LONGEST_NOTE = 200;
const NOTE = "Note, if any";
const HOW_LONG = "For how long";

interface DoingProps {
  need: Need;
  /** What was acknowledged or taken back here, until its new button has the focus. */
  moved: React.RefObject<string | null>;
}

export function Acknowledge({ need, moved }: DoingProps) {
  const [isOpen, setOpen] = useState(false);
  const button = useFocus(need, moved);
  return (
    <>
      <Button ref={button} aria-label={`Acknowledge: ${need.what}`} onClick={() => setOpen(true)}>
        Acknowledge
      </Button>
      {isOpen && <Asking need={need} moved={moved} close={() => setOpen(false)} />}
    </>
  );
}

function Asking({ need, moved, close }: DoingProps & { close: () => void }) {
  const put = useTold();
  const acknowledge = useMutation({
    mutationFn: (body: { note: string; hours: number }) =>
      answered(
        api.PUT("/api/v1/alerts/acknowledgements/{alert}", { params: { path: { alert: need.key } }, body }),
      ) as Promise<Acknowledgement>,
    onSuccess: (said) => {
      close();
      moved.current = need.key;
      put((items) => [...items.filter((one) => one.alert !== said.alert), said]);
    },
  });
  const send = (data: FormData) =>
    acknowledge.mutateAsync({ note: String(data.get("note")).trim(), hours: Number(data.get("hours")) });
  return (
    <Dialog title="Acknowledge" close={close}>
      <p>{need.what}. Until its time is over, it counts as seen for everybody of this tenant.</p>
      <Form send={send} className={styles.asking}>
        <Field
          label={NOTE}
          name="note"
          maxLength={LONGEST_NOTE}
          error={told(acknowledge.error, { note: NOTE, hours: HOW_LONG })}
        />
        <Select label={HOW_LONG} name="hours" options={HOURS} defaultValue="24" />
        <span className={styles.buttons}>
          <Button onClick={close}>Leave it</Button>
          <Button type="submit" kind="primary" disabled={acknowledge.isPending}>
            Acknowledge
          </Button>
        </span>
      </Form>
    </Dialog>
  );
}

export function TakeBack({ need, moved }: DoingProps) {
  const put = useTold();
  const button = useFocus(need, moved);
  const remove = useMutation({
    mutationFn: () =>
      answered(api.DELETE("/api/v1/alerts/acknowledgements/{alert}", { params: { path: { alert: need.key } } })),
    onSuccess: () => {
      moved.current = need.key;
      put((items) => items.filter((one) => one.alert !== need.key));
    },
  });
  const once = useOnce(() => remove.mutateAsync());
  return (
    <>
      <Button ref={button} aria-label={`Take back: ${need.what}`} disabled={remove.isPending} onClick={() => once()}>
        Take back
      </Button>
      {remove.error && <span role="alert">{remove.error.message}</span>}
    </>
  );
}

/** `by ada@example.org 3 hours ago, counts again in 20 hours: the budget is raised on Monday`. */
export function WhoSaw({ by }: { by: Acknowledgement }) {
  return (
    <span className="data">
      by {by.acknowledged_by} <Time at={by.created_at} />, counts again <Time at={by.until} />
      {by.note && `: ${by.note}`}
    </span>
  );
}

/** Has the list say what the server just said, and then asks for all of it again. */
function useTold() {
  const client = useQueryClient();
  const { queryKey } = acknowledgements;
  return (change: (items: Acknowledgement[]) => Acknowledgement[]) => {
    client.setQueryData<Page<Acknowledgement>>(queryKey, (page) => page && { ...page, items: change(page.items) });
    void client.invalidateQueries({ queryKey });
  };
}

/** The focus goes along with what was moved, and is not lost with the button that is gone. */
function useFocus({ key }: Need, moved: DoingProps["moved"]) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (moved.current !== key) return;
    moved.current = null;
    button.current?.focus();
  }, [key, moved]);
  return button;
}
