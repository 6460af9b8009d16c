import { useState } from "react";
import { Button } from "./button";

const SAID_MS = 2000;

interface CopyProps {
  text: () => string;
  title?: string;
  className?: string;
  children: string;
}

/** Copies a text, and says whether that was allowed. */
export function Copy({ text, title, className, children }: CopyProps) {
  const [said, setSaid] = useState("");
  const copy = async () => {
    setSaid((await copied(text())) ? "copied" : "not allowed by the browser");
    setTimeout(() => setSaid(""), SAID_MS);
  };
  return (
    <>
      <Button onClick={copy} title={title} className={className}>
        {said || children}
      </Button>
      <span role="status" className="hidden">
        {said}
      </span>
    </>
  );
}

/** Whether a text is on the clipboard now. */
export async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
