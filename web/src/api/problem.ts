/** A place of a request that is not as it should be: `body.name`, `query.since`. */
interface Misfit {
  where: string;
  detail: string;
}

/** What the API said that went wrong (RFC 9457), or that nothing answered. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly remedy: string | null = null,
    readonly traceId: string | null = null,
    readonly where: string | null = null,
    readonly misfits: readonly Misfit[] = [],
  ) {
    super(detail);
    this.name = "Problem";
  }

  /** Whether nobody is signed in. */
  get isUnauthenticated(): boolean {
    return this.status === 401;
  }

  /** The field, file or thing of the user's that is wrong, where the words do not say it. */
  get place(): string | null {
    return this.where === null || this.message.includes(this.where) ? null : this.where;
  }

  /** Whether a field of the request is what is wrong. */
  isOf(field: string): boolean {
    return [this.where ?? "", ...this.misfits.map((one) => one.where)].some((one) => lastOf(one) === field);
  }

  /** Whether the page's own address asks for what can't be. */
  get isOfAddress(): boolean {
    return this.misfits.some((one) => one.where.startsWith("query."));
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
  const code = text("code") ?? "unreadable";
  const [trace, where] = [text("trace_id"), text("where")];
  if (code === INVALID) {
    const misfits = misfitsOf(said.errors);
    return new Problem(status, code, misfitWords(misfits) || NOT_TAKEN, null, trace, where, misfits);
  }
  const detail = [text("detail"), fieldsOf(said.errors)].filter(Boolean).join(" ");
  return new Problem(status, code, detail, text("remedy"), trace, where);
}

/** What is wrong, by the names that the page itself has for its fields. */
export function told(error: Error | null, labels: Record<string, string>): string | undefined {
  if (!(error instanceof Problem) || error.misfits.length === 0) return error?.message;
  return misfitWords(error.misfits, labels);
}

/** The code of a request that is not as its description says. Its texts are for whoever writes a client. */
const INVALID = "request-invalid";
const NOT_TAKEN = "The server did not take what was sent.";

function misfitsOf(errors: unknown): Misfit[] {
  if (!Array.isArray(errors)) return [];
  return errors.map((one) => ({ where: String(one.where ?? ""), detail: String(one.detail ?? "") }));
}

/** What pages call the parameters of lists. */
const LABELS: Record<string, string> = { words: "Name", actor: "Who" };

function misfitWords(misfits: readonly Misfit[], labels = LABELS): string {
  const words = misfits.map(({ where, detail }) => {
    const field = lastOf(where);
    return `${labels[field] ?? field.replaceAll("_", " ")}: ${plain(detail)}`;
  });
  return words.length ? `${words.join("; ")}.` : "";
}

function lastOf(where: string): string {
  return where.slice(where.lastIndexOf(".") + 1);
}

/** `should be greater than or equal to 0`; what a parser says of itself is nothing to anybody. */
function plain(detail: string): string {
  if (detail.includes("valid UUID")) return "should be an id";
  if (/^Input should be '[^']*',/.test(detail)) return "is none of those that there are";
  const [, rule] = /^(?:Input|String|Value|List) (should .*?)(?:,.*)?$/.exec(detail) ?? [];
  return rule ?? (detail === "Field required" ? "is missing" : "can't be read as it is; write it otherwise");
}

function fieldsOf(errors: unknown): string {
  if (!Array.isArray(errors)) return "";
  return errors.map((one) => `${one.where ?? one.field ?? ""}: ${one.detail ?? one.message ?? ""}`).join("; ");
}

/** Nothing answered. */
export function unreachable(): Problem {
  return new Problem(0, "unreachable", "The server can't be reached.", "Look whether `proctor up` still runs.");
}
