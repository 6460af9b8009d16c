import { useId } from "react";
import { bytes } from "../design/numbers";
import { Button } from "./button";
import page from "./form-page.module.css";
import styles from "./source.module.css";

/** Lines that were written here, or a file of the reader's. */
export type Source = { text: string } | { file: File };

/** Of a file: enough to tell its fields from. */
const HEAD_BYTES = 64 * 1024;

export const EMPTY: Source = { text: "" };

export function contentOf(source: Source): Blob {
  return "file" in source ? source.file : new Blob([source.text]);
}

/** What was written here; nothing of a file. */
export function writtenIn(source: Source): string {
  return "text" in source ? source.text : "";
}

export function fileNameOf(source: Source): string {
  return "file" in source ? source.file.name : "pasted.jsonl";
}

/** Its beginning as text, and whether that is all of it. */
export async function headOf(source: Source): Promise<{ text: string; isWhole: boolean }> {
  if ("text" in source) return { text: source.text, isWhole: true };
  return { text: await source.file.slice(0, HEAD_BYTES).text(), isWhole: source.file.size <= HEAD_BYTES };
}

interface SourceFieldProps {
  label: string;
  source: Source;
  accept: string;
  placeholder: string;
  change: (source: Source) => void;
}

/** Lines to be written or pasted, or a file to be dropped or chosen. */
export function SourceField({ label, source, accept, placeholder, change }: SourceFieldProps) {
  const id = useId();
  const take = (files: FileList | null) => {
    const [file] = files ?? [];
    if (file) change({ file });
  };
  const drop = (event: React.DragEvent) => {
    if (event.dataTransfer.files.length === 0) return;
    event.preventDefault();
    take(event.dataTransfer.files);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: what is dropped here can be chosen by its button too
    <div className={styles.source} onDragOver={(event) => event.preventDefault()} onDrop={drop}>
      <label htmlFor={id}>{label}</label>
      {"file" in source ? (
        <p className={styles.file}>
          <code>{source.file.name}</code> <span className="muted">{bytes(source.file.size)}</span>{" "}
          <Button onClick={() => change(EMPTY)}>Take it away</Button>
        </p>
      ) : (
        <textarea
          id={id}
          className={page.text}
          rows={8}
          spellCheck={false}
          value={source.text}
          placeholder={placeholder}
          onChange={(event) => change({ text: event.target.value })}
        />
      )}
      <input
        type="file"
        aria-label={`A file: ${label}`}
        accept={accept}
        onChange={(event) => {
          take(event.target.files);
          event.target.value = "";
        }}
      />
    </div>
  );
}
