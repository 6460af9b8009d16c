import { useEffect, useRef } from "react";
import styles from "./dialog.module.css";

/** A modal dialog: the browser's own, which keeps the focus inside and gives it back. Mounted while it is open. */
export function Dialog({ title, close, children }: { title: string; close: () => void; children: React.ReactNode }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      className={styles.dialog}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onClick={(event) => event.target === element.current && close()}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <div className={styles.inside}>
        <h2>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}
