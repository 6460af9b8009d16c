/** What the API said that went wrong (RFC 9457), or that nothing answered. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly remedy: string | null = null,
    readonly traceId: string | null = null,
    readonly where: string | null = null,
  ) {
    super(detail);
    this.name = "Problem";
  }

  /** Whether nobody is signed in. */
  get isUnauthenticated(): boolean {
    return this.status === 401;
  }

  /** Whether it may be another answer later without anybody's doing. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** The problem of an answer's body, whatever was sent. */
export function problemOf(status: number, body: unknown): Problem {
  if (typeof body !== "object" || body === null || !("detail" in body)) {
    return new Problem(status, "unreadable", `The server answered ${status} and nothing that can be read.`);
  }
  const said = body as Record<string, unknown>;
  const text = (name: string) => (typeof said[name] === "string" ? (said[name] as string) : null);
  return new Problem(
    status,
    text("code") ?? "unreadable",
    [text("detail"), fieldsOf(said.errors)].filter(Boolean).join(" "),
    text("remedy"),
    text("trace_id"),
    text("where"),
  );
}

function fieldsOf(errors: unknown): string {
  if (!Array.isArray(errors)) return "";
  return errors.map((one) => `${one.where ?? one.field ?? ""}: ${one.detail ?? one.message ?? ""}`).join("; ");
}

/** Nothing answered. */
export function unreachable(): Problem {
  return new Problem(0, "unreachable", "The server can't be reached.", "Look whether `proctor up` still runs.");
}
