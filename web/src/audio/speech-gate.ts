// Whether somebody speaks, from how loud it is: what the page's own clock needs for "the end of
// speech" and "the first sound", whatever the server thinks of them.
//
// The floor follows the quiet parts: down at once, up slowly. Loud is well above the floor and
// above an absolute least, so that neither a fan nor silence of zeros is speech.

/** -50 dB: below the faintest consonant. */
const LEAST = 10 ** (-50 / 20);
/** 12 dB above the floor. */
const ABOVE_FLOOR = 4;
/** The floor rises by this share of itself a second: 6 dB. */
const RISE_PER_SECOND = 2;
/** A pause inside a sentence is shorter than this; after it, speech begins anew. */
const PAUSE_MS = 400;

export class SpeechGate {
  #floor = LEAST;
  #lastMs: number | null = null;
  #firstLoudMs: number | null = null;
  #lastLoudMs: number | null = null;

  /** The level of the piece of sound that ended at `nowMs`; `rms` is 0..1. */
  handleLevel(rms: number, nowMs: number): void {
    const seconds = this.#lastMs === null ? 0 : Math.max(0, nowMs - this.#lastMs) / 1000;
    this.#lastMs = nowMs;
    const risen = Math.min(0.1, Math.max(this.#floor, LEAST / 4) * RISE_PER_SECOND ** seconds);
    this.#floor = Math.min(rms, risen);
    if (rms < Math.max(LEAST, this.#floor * ABOVE_FLOOR)) return;
    if (this.#lastLoudMs === null || nowMs - this.#lastLoudMs > PAUSE_MS) this.#firstLoudMs = nowMs;
    this.#lastLoudMs = nowMs;
  }

  /** When the current or last stretch of speech began. */
  get startMs(): number | null {
    return this.#firstLoudMs;
  }

  /** When it was loud last. */
  get endMs(): number | null {
    return this.#lastLoudMs;
  }
}
