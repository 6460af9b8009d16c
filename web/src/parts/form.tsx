import { useRef } from "react";

interface FormProps {
  /** Sends what was typed. It may throw: whoever sends shows why. */
  send: (data: FormData) => Promise<unknown>;
  className?: string;
  children: React.ReactNode;
}

/** A form that is sent once however often its button is clicked, and is emptied only when it was taken. */
export function Form({ send, className, children }: FormProps) {
  const once = useOnce(send);
  const submit = async (event: React.FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    if (await once(new FormData(form))) form.reset();
  };
  return (
    <form onSubmit={submit} className={className}>
      {children}
    </form>
  );
}

/**
 * Work that is not begun again while it is done: a second click comes before any button can be disabled. Answers
 * whether it was done here and now.
 */
export function useOnce<A extends unknown[]>(work: (...given: A) => Promise<unknown>) {
  const busy = useRef(false);
  return async (...given: A): Promise<boolean> => {
    if (busy.current) return false;
    busy.current = true;
    try {
      await work(...given);
      return true;
    } catch {
      return false; // told by whatever did it
    } finally {
      busy.current = false;
    }
  };
}
