import { Field } from "./field";
import { QueryForm } from "./query-form";

/** Narrows a list by what stands in its names, once that is said with Enter. */
export function FindByName({ words, find }: { words?: string; find: (words: string | undefined) => void }) {
  return (
    <QueryForm said={{ q: words }} ask={(typed) => find(typed("q"))}>
      <Field label="Name" name="q" type="search" data-filter defaultValue={words} maxLength={100} />
    </QueryForm>
  );
}

/** Where a list is narrowed by what is typed: the field that has the key `/`. */
export function focusFilter(): void {
  document.querySelector<HTMLInputElement>("[data-filter]")?.focus();
}
