import { useId } from "react";
import styles from "./field.module.css";

interface FieldProps extends React.ComponentProps<"input"> {
  label: string;
  "data-filter"?: boolean;
  hint?: string;
  error?: string;
}

/** A text field with its label, a hint and what is wrong with it. */
export function Field({ label, hint, error, ...rest }: FieldProps) {
  const id = useId();
  const told = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className={styles.input}
        aria-describedby={told || undefined}
        aria-invalid={error ? true : undefined}
        {...rest}
      />
      {hint && (
        <small id={`${id}-hint`} className="muted">
          {hint}
        </small>
      )}
      {error && (
        <p id={`${id}-error`} className={styles.error} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

interface SelectProps extends React.ComponentProps<"select"> {
  label: string;
  options: readonly { value: string; label: string }[];
}

/** A choice of few. */
export function Select({ label, options, ...rest }: SelectProps) {
  const id = useId();
  return (
    <span className={styles.choice}>
      <label htmlFor={id}>{label}</label>
      <select id={id} className={styles.input} {...rest}>
        {options.map((one) => (
          <option key={one.value} value={one.value}>
            {one.label}
          </option>
        ))}
      </select>
    </span>
  );
}
