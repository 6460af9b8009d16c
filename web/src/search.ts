/** Reading of search parameters: what is not understood is as if it were not there. */

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
  return /^\d{4}-\d\d-\d\d$/.test(found) && !Number.isNaN(Date.parse(found)) ? found : undefined;
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
