import { Field } from "./field";

/** Narrows a list by what stands in its names, once that is said with Enter. */
export function FindByName({ words, find }: { words?: string; find: (words: string | undefined) => void }) {
  return (
    <form key={words ?? ""} action={(data) => find(String(data.get("q")).trim() || undefined)}>
      <Field label="Name" name="q" type="search" data-filter defaultValue={words} maxLength={100} />
    </form>
  );
}

/** Where a list is narrowed by what is typed: the field that has the key `/`. */
export function focusFilter(): void {
  document.querySelector<HTMLInputElement>("[data-filter]")?.focus();
}
