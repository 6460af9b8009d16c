/** What was pasted: an address of this server, or something's id. */

/** The path that an address of this server names; `null`: it is another server's; nothing: it is no address. */
export function pathOf(typed: string, origin: string): string | null | undefined {
  const text = typed.trim();
  if (/^\/[a-z]/.test(text) && !/\s/.test(text)) return text;
  if (!/^https?:\/\//i.test(text)) return undefined;
  try {
    const url = new URL(text);
    return url.origin === origin ? url.pathname + url.search + url.hash : null;
  } catch {
    return undefined;
  }
}

/** An id, or as much of its beginning as pages and commands write. */
export function idOf(typed: string): string | undefined {
  const text = typed.trim().toLowerCase();
  return /^[0-9a-f]{8}(-[0-9a-f-]*)?$/.test(text) && text.length <= 36 ? text : undefined;
}
