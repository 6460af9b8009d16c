/** Reading of search parameters: what is not understood is as if it were not there. */

/** As the router writes what is no text: JSON. Of what a reader typed, `1e5` and `null` are words. */
export function parsed(value: string): unknown {
  return isJson(value) ? JSON.parse(value) : value;
}

/** Whether the router has to write a text as JSON, so that it is read as that text again; throws where not. */
export function quoted(value: string): void {
  if (!isJson(value)) throw new Error("read as it is written");
}

/** A list, an object, or a text that would be taken for one. */
function isJson(value: string): boolean {
  return /^(?:[[{]|"(?:[[{]|\\"))/.test(value);
}

export function text(value: unknown): string | undefined {
  if (typeof value === "string") return value === "" ? undefined : value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}

export function chosen<T extends string>(value: unknown, of: readonly T[]): T | undefined {
  return of.find((one) => one === value);
}

export function whole(value: unknown): number | undefined {
  const number = Number(value);
  return value !== "" && value != null && Number.isInteger(number) ? number : undefined;
}

export function number(value: unknown): number | undefined {
  const found = Number(value);
  return value !== "" && value != null && Number.isFinite(found) ? found : undefined;
}

/** A day as `2026-12-01` that there is. */
export function day(value: unknown): string | undefined {
  const found = text(value) ?? "";
  const at = /^\d{4}-\d\d-\d\d$/.test(found) ? new Date(found) : null; // of the 30th of February the 2nd of March
  return at !== null && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(found) ? found : undefined;
}

/** Names of any kind, commas among them. */
export function listed(value: unknown): string[] | undefined {
  const found = (Array.isArray(value) ? value : [value]).map(text).filter((one) => one !== undefined);
  return found.length ? found : undefined;
}

export function several(value: unknown): string[] | undefined {
  const parts = Array.isArray(value) ? value.map(text) : text(value)?.split(",");
  const found = parts?.filter((one): one is string => Boolean(one));
  return found?.length ? found : undefined;
}
