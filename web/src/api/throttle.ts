/** Questions that events ask for, not more often than it helps. */
import { useCallback, useEffect, useMemo } from "react";

/**
 * At once, and then at most every so many milliseconds, the last time for sure; and never before what was begun has
 * ended: figures that take the server longer than that would be asked for again and again, and never come.
 */
export function useThrottled(work: () => Promise<unknown>, every: number): () => void {
  const throttle = useMemo(() => new Throttle(work, every), [work, every]);
  useEffect(() => () => throttle.stop(), [throttle]);
  return useCallback(() => throttle.ask(), [throttle]);
}

export class Throttle {
  private last = Number.NEGATIVE_INFINITY;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isBusy = false;
  private isWanted = false;

  constructor(
    private readonly work: () => Promise<unknown>,
    private readonly every: number,
  ) {}

  ask(): void {
    this.isWanted = true;
    if (this.isBusy || this.timer !== undefined) return;
    const left = this.last + this.every - Date.now();
    if (left <= 0) this.run();
    else this.timer = setTimeout(() => this.run(), left);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.isWanted = false;
  }

  private run(): void {
    this.timer = undefined;
    this.last = Date.now();
    this.isWanted = false;
    this.isBusy = true;
    const ended = () => {
      this.isBusy = false;
      if (this.isWanted) this.ask();
    };
    this.work().then(ended, ended);
  }
}
