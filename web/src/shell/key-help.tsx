import { Dialog } from "../parts/dialog";
import styles from "./key-help.module.css";
import { keyWords, useBindings } from "./keys";

/** Exactly the keys that work on this page. */
export function KeyHelp({ close }: { close: () => void }) {
  const bindings = useBindings();
  return (
    <Dialog title="Keys of this page" close={close}>
      <dl className={styles.keys}>
        {bindings.map((one) => (
          <div key={one.keys}>
            <dt>
              <kbd>{keyWords(one.keys)}</kbd>
            </dt>
            <dd>{one.what}</dd>
          </div>
        ))}
        <div>
          <dt>
            <kbd>Esc</kbd>
          </dt>
          <dd>Close what is open</dd>
        </div>
      </dl>
    </Dialog>
  );
}
