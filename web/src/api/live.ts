/**
 * One WebSocket for the whole page. Readers follow topics; every event reaches each reader once, in the server's order.
 * After a break it goes on after the last event seen, so that nothing is lost; where the server has forgotten that
 * event it says `gap`, and readers fetch everything anew. As long as it is broken, those readers that can are asked to
 * look by themselves now and then.
 */

export interface LiveEvent {
  id: string;
  name: string;
  subject: string;
  created_at: string;
  payload: Record<string, unknown>;
}

export type Standing = { state: "live" } | { state: "connecting" } | { state: "refused" } | Broken;

interface Broken {
  state: "reconnecting";
  /** When what is shown was last known to be as it is. */
  since: number;
  /** Whether somebody looks now and then meanwhile. */
  isPolling: boolean;
}

export interface Reader {
  event: (event: LiveEvent) => void;
  /** Events may be missing: fetch again. */
  gap: () => void;
  /** From here on events come: what was fetched before may be older than the first of them. */
  joined?: () => void;
  /** The socket is broken: look whether something has changed. */
  poll?: () => void;
}

const WAITS_MS = [250, 500, 1000, 2000, 5000];
const SEEN = 4096;
/** Between two looks while no event can come. */
const POLL_MS = 10_000;
/** Codes that trying again does not mend: the key opens nothing, or not this. */
const REFUSED = new Set([4401, 4403]);

export class Live {
  private readonly readers = new Map<string, Set<Reader>>();
  private readonly listeners = new Set<() => void>();
  /** After which event each topic is to be gone on with, as long as the socket was not asked. */
  private readonly wanted = new Map<string, string | null>();
  private readonly seen = new Set<string>();
  private socket: WebSocket | null = null;
  private after: string | null = null;
  private failures = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private polls: ReturnType<typeof setInterval> | undefined;
  private stopped = false;
  standing: Standing = { state: "connecting" };

  constructor(private readonly url: string) {}

  /** Follow a topic until the function that comes back is called. `after`: an event's id, to miss nothing since. */
  follow(topic: string, reader: Reader, after: string | null = null): () => void {
    const readers = this.readers.get(topic) ?? new Set();
    if (readers.size === 0 || after !== null) this.wanted.set(topic, after);
    readers.add(reader);
    this.readers.set(topic, readers);
    if (this.socket === null && this.timer === undefined) this.open();
    this.subscribe();
    return () => this.leave(topic, reader);
  }

  /** Be told when `standing` changes. */
  watch(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Close it for good. */
  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    clearInterval(this.polls);
    this.socket?.close();
  }

  private leave(topic: string, reader: Reader): void {
    const readers = this.readers.get(topic);
    readers?.delete(reader);
    if (readers?.size) return;
    this.readers.delete(topic);
    this.wanted.delete(topic);
    this.say({ unsubscribe: [topic] });
  }

  private open(): void {
    this.timer = undefined;
    if (this.stopped) return;
    const socket = new WebSocket(this.url);
    this.socket = socket;
    socket.onopen = () => {
      this.failures = 0;
      clearInterval(this.polls);
      this.tell({ state: "live" });
      this.subscribe();
    };
    socket.onmessage = (message) => this.take(JSON.parse(message.data));
    socket.onclose = (closed) => this.closed(closed.code);
  }

  private closed(code: number): void {
    this.socket = null;
    for (const topic of this.readers.keys()) this.wanted.set(topic, this.wanted.get(topic) ?? this.after);
    if (this.stopped) return;
    if (REFUSED.has(code)) {
      clearInterval(this.polls);
      this.tell({ state: "refused" });
      return;
    }
    if (this.standing.state !== "reconnecting") {
      this.tell({ state: "reconnecting", since: Date.now(), isPolling: false });
      this.polls = setInterval(() => this.poll(), POLL_MS);
    }
    const wait = WAITS_MS[Math.min(this.failures, WAITS_MS.length - 1)] ?? 5000;
    this.failures += 1;
    this.timer = setTimeout(() => this.open(), wait);
  }

  private poll(): void {
    if (this.standing.state !== "reconnecting") return;
    const able = this.everyone().filter((reader) => reader.poll);
    this.tell({ ...this.standing, isPolling: able.length > 0 });
    for (const reader of able) reader.poll?.();
  }

  /** What is shown was just answered, whoever asked: while the socket is broken it is as old as that. */
  answered(): void {
    if (this.standing.state === "reconnecting" && this.standing.isPolling) {
      this.tell({ ...this.standing, since: Date.now() });
    }
  }

  private take(message: { event?: LiveEvent; subscribed?: string[]; after?: string | null; gap?: unknown }): void {
    if (message.event) this.deliver(message.event);
    if (message.gap) for (const reader of this.everyone()) reader.gap();
    if (message.after && this.after === null) this.after = message.after;
    for (const topic of message.subscribed ?? []) for (const reader of this.of(topic)) reader.joined?.();
  }

  private deliver(event: LiveEvent): void {
    if (this.seen.has(event.id)) return;
    this.seen.add(event.id);
    if (this.seen.size > SEEN) this.seen.delete(this.seen.values().next().value as string);
    this.after = event.id;
    for (const topic of ["all", topicOf(event)]) for (const reader of this.of(topic)) reader.event(event);
  }

  private of(topic: string): Iterable<Reader> {
    return this.readers.get(topic) ?? [];
  }

  private everyone(): Reader[] {
    return [...this.readers.values()].flatMap((readers) => [...readers]);
  }

  /** Ask for what is wanted, if the socket is open: one wish for each event to go on after. */
  private subscribe(): void {
    if (!this.isOpen) return;
    const wishes = new Map<string | null, string[]>();
    for (const [topic, after] of this.wanted) wishes.set(after, [...(wishes.get(after) ?? []), topic]);
    this.wanted.clear();
    for (const [after, topics] of wishes)
      this.say(after === null ? { subscribe: topics } : { subscribe: topics, after });
  }

  private say(wish: Record<string, unknown>): void {
    if (this.isOpen) this.socket?.send(JSON.stringify(wish));
  }

  private get isOpen(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  private tell(standing: Standing): void {
    this.standing = standing;
    for (const listener of this.listeners) listener();
  }
}

/** What an event is followed by, beside everything. */
function topicOf({ name, subject, payload }: LiveEvent): string {
  if (name.startsWith("job.")) return `job:${subject}`;
  return `run-set:${name.startsWith("run_set.") ? subject : payload.run_set}`;
}

/** Where the socket of this page's server is. */
export function socketUrl(): string {
  const { protocol, host } = globalThis.location;
  return `${protocol === "https:" ? "wss" : "ws"}://${host}/ws`;
}
