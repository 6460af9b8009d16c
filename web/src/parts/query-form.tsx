import { useEffect, useRef } from "react";

interface QueryFormProps {
  /** What the address says, by the names of the fields, whose `defaultValue` it is. */
  said: Record<string, string | undefined>;
  /** Puts what was typed into the address: blanks around it are cut off, and what is empty is not said. */
  ask: (typed: (name: string) => string | undefined) => void;
  className?: string;
  children: React.ReactNode;
}

/** Fields that say what the address asks for, also once that changes; whoever types in one keeps it. */
export function QueryForm({ said, ask, className, children }: QueryFormProps) {
  const form = useRef<HTMLFormElement>(null);
  const address = JSON.stringify(said);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the fields follow the address
  useEffect(() => {
    form.current?.reset();
  }, [address]);
  const submit = (event: React.FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    ask((name) => String(data.get(name) ?? "").trim() || undefined);
  };
  return (
    <form ref={form} onSubmit={submit} className={className}>
      {children}
    </form>
  );
}
