import styles from "./button.module.css";

interface ButtonProps extends React.ComponentProps<"button"> {
  kind?: "plain" | "primary" | "danger" | "link";
}

export function Button({ kind = "plain", type = "button", className, ...rest }: ButtonProps) {
  return (
    <button type={type} className={[styles.button, styles[kind], className].filter(Boolean).join(" ")} {...rest} />
  );
}
