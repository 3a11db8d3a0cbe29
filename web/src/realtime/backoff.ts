// How long to wait before the next try to reach a server: twice as long after each failure, up to a
// bound, and scattered, so that many pages do not all come back at once.

const FIRST_MS = 500;
const MAX_MS = 15_000;
/** A wait is between this share of its length and all of it. */
const LEAST_SHARE = 0.75;

export class Backoff {
  #failures = 0;

  /** Tries that have failed since the last success. */
  get failures(): number {
    return this.#failures;
  }

  /** The wait after one more failure; `random` is 0..1. */
  next(random: number): number {
    const whole = Math.min(MAX_MS, FIRST_MS * 2 ** this.#failures);
    this.#failures += 1;
    return whole * (LEAST_SHARE + (1 - LEAST_SHARE) * random);
  }

  reset(): void {
    this.#failures = 0;
  }
}
