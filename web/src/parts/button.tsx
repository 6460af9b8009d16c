import styles from "./button.module.css";

interface ButtonProps extends React.ComponentProps<"button"> {
  kind?: "plain" | "primary" | "danger" | "link";
}

/** Disabled, it keeps the focus and its place among the tabs, so that nobody is lost while it works; it does nothing. */
export function Button({ kind = "plain", type = "button", className, disabled, onClick, ...rest }: ButtonProps) {
  const press = (event: React.MouseEvent<HTMLButtonElement>) => {
    if (disabled) event.preventDefault();
    else onClick?.(event);
  };
  return (
    <button
      type={type}
      className={[styles.button, styles[kind], className].filter(Boolean).join(" ")}
      aria-disabled={disabled || undefined}
      onClick={press}
      {...rest}
    />
  );
}
