import { useEffect, useRef } from "react";
import { fragmentOf } from "./sanitized";
import styles from "./step.module.css";

/** A message with its Markdown shown. What it may hold is a list of harmless elements; loaded when first needed. */
export default function Markdown({ text }: { text: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => place.current?.replaceChildren(fragmentOf(text)), [text]);
  return <div ref={place} className={styles.prose} />;
}
