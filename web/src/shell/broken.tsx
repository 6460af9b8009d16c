import { useState } from "react";
import { Failed } from "../parts/states";

/** A page that could not be shown. All of its state is in the address, so that loading it anew loses nothing. */
export function Broken({ error }: { error: unknown }) {
  const [isAway, setAway] = useState(false);
  const again = async () => {
    try {
      await fetch(globalThis.location.href, { method: "HEAD" }); // else the browser's own page would take this one's place
      globalThis.location.reload();
    } catch {
      setAway(true);
    }
  };
  const told = isAway ? new Error("The server still can't be reached.") : error;
  return <Failed page="Proctor" error={told} retry={() => void again()} />;
}

/** A part of the dashboard that is loaded when it is needed. Raises an error in words where it can't be. */
export function loaded<T>(part: Promise<T>): Promise<T> {
  return part.catch(() => {
    throw new Error("This page could not be loaded: the server can't be reached, or has another version by now.");
  });
}
