/** Keys of the page: whoever is mounted adds its own, and `?` lists exactly those. */
import { useEffect, useRef, useSyncExternalStore } from "react";

export interface KeyBinding {
  /** As `KeyboardEvent.key` says it; two with a space are one after the other. */
  keys: string;
  what: string;
  run: () => void;
}

let bindings: readonly KeyBinding[] = [];
const listeners = new Set<() => void>();
const SEQUENCE_MS = 1200;
let begun = { key: "", at: 0 };

function change(next: readonly KeyBinding[]): void {
  bindings = next;
  for (const listener of listeners) listener();
}

/** Add keys while mounted; of two for the same key the one that was added last is meant. */
export function useKeys(own: readonly KeyBinding[]): void {
  const current = useRef(own);
  current.current = own;
  const names = own.map((one) => `${one.keys}\n${one.what}`).join("\n\n");
  useEffect(() => {
    if (names === "") return;
    const added = names.split("\n\n").map((one): KeyBinding => {
      const [keys = "", what = ""] = one.split("\n");
      return { keys, what, run: () => current.current.find((binding) => binding.keys === keys)?.run() };
    });
    change([...bindings, ...added]);
    return () => change(bindings.filter((one) => !added.includes(one)));
  }, [names]);
}

/** The keys that go through a list of things. */
export function stepKeys(thing: string, move: (by: 1 | -1) => void): readonly KeyBinding[] {
  return [
    { keys: "j", what: `Next ${thing}`, run: () => move(1) },
    { keys: "k", what: `Previous ${thing}`, run: () => move(-1) },
  ];
}

/** Every key that works now. */
export function useBindings(): readonly KeyBinding[] {
  const all = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => bindings,
  );
  return all.filter((one, at) => all.findLastIndex((other) => other.keys === one.keys) === at);
}

/** Keys as they are written for readers. */
export function keyWords(keys: string): string {
  return keys.replace("Mod+k", "⌘/Ctrl K").replace("Mod+", "⌘/Ctrl ").replace("Escape", "Esc").replace(/^ $/, "Space");
}

/** Listen for keys, once for the whole page. */
export function listenForKeys(): () => void {
  const pressed = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.altKey || isTaken(event)) return;
    const key = event.ctrlKey || event.metaKey ? `Mod+${event.key.toLowerCase()}` : event.key;
    const binding = sequenceOf(key) ?? find(key);
    if (binding !== undefined) {
      event.preventDefault();
      binding.run();
    }
  };
  document.addEventListener("keydown", pressed);
  return () => document.removeEventListener("keydown", pressed);
}

function sequenceOf(key: string): KeyBinding | undefined {
  const now = Date.now();
  const found = now - begun.at < SEQUENCE_MS ? find(`${begun.key} ${key}`) : undefined;
  begun = { key, at: now };
  return found;
}

function find(keys: string): KeyBinding | undefined {
  return bindings.findLast((one) => one.keys === keys);
}

const PRESSED = new Set(["A", "BUTTON", "SUMMARY"]);
const TICKED = new Set(["checkbox", "radio"]);

/** Whether what has the focus takes the key: text that is typed, or what presses a button and follows a link. */
function isTaken(event: KeyboardEvent): boolean {
  if (event.key === "Escape" || event.ctrlKey || event.metaKey) return false;
  const target = event.target as HTMLElement;
  const presses = event.key === " " || event.key === "Enter";
  if (PRESSED.has(target.tagName)) return presses;
  if (target instanceof HTMLInputElement && TICKED.has(target.type)) return presses;
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}
