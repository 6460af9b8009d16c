import { useLayoutEffect, useRef } from "react";
import styles from "./dialog.module.css";

interface DialogProps {
  title: string;
  close: () => void;
  /** What is inside says what it is: the title is for those who hear it. */
  plain?: boolean;
  /** It holds what is shown this once: neither Escape nor a click beside it closes it. */
  stays?: boolean;
  children: React.ReactNode;
}

/** A modal dialog: the browser's own, which keeps the focus inside and gives it back. Mounted while it is open. */
export function Dialog({ title, close, plain, stays, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  // before it leaves the document: the focus goes back only from a dialog that is closed in it
  useLayoutEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      className={styles.dialog}
      aria-label={title}
      closedby={stays ? "none" : "closerequest"}
      onCancel={(event) => {
        event.preventDefault();
        if (!stays) close();
      }}
      onClick={(event) => event.target === element.current && !stays && close()}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (stays && event.key === "Escape") event.preventDefault();
      }}
    >
      <div className={styles.inside}>
        {!plain && <h2>{title}</h2>}
        {children}
      </div>
    </dialog>
  );
}
