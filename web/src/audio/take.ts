// One utterance as it was received: its samples, and what a drawing of it needs.
//
// The take is the only place that holds all samples. Playout reads from it by position, the wav file
// is written from it, and the drawing reads the peaks that it keeps on the way. It is bounded: over
// `MAX_SECONDS` it takes no more and says so.

/** 20 minutes: a text at the server's limit is about 5, and this is 58 MB of 16-bit samples. */
export const MAX_SECONDS = 20 * 60;

/** Peaks a second of audio: 10 ms each, finer than a pixel for anything over 7 s on a wide page. */
export const PEAKS_PER_SECOND = 100;

/** -50 dB: below the faintest consonant and above the noise floor of the codecs. */
const AUDIBLE = Math.round(32768 * 10 ** (-50 / 20));

export class Take {
  /** Samples per second. */
  readonly rate: number;
  /** Position of the first sample that can be heard, once there is one. */
  firstAudible: number | null = null;

  readonly #blockSize: number;
  readonly #blocks: Int16Array[] = [];
  readonly #peaks: number[] = [];
  readonly #peakSize: number;
  #peak = 0;
  #length = 0;

  constructor(rate: number) {
    this.rate = rate;
    this.#blockSize = rate;
    this.#peakSize = Math.round(rate / PEAKS_PER_SECOND);
  }

  /** Samples received. */
  get length(): number {
    return this.#length;
  }

  /** Seconds received. */
  get seconds(): number {
    return this.#length / this.rate;
  }

  get full(): boolean {
    return this.#length >= MAX_SECONDS * this.rate;
  }

  /** The highest magnitude of each hundredth of a second, 0..1; the last one may still grow. */
  get peaks(): readonly number[] {
    return this.#peaks;
  }

  /** Takes `samples`, or as many as fit; returns how many. */
  append(samples: Int16Array): number {
    const count = Math.min(samples.length, MAX_SECONDS * this.rate - this.#length);
    for (let from = 0; from < count; ) {
      const offset = this.#length % this.#blockSize;
      if (offset === 0) this.#blocks.push(new Int16Array(this.#blockSize));
      const piece = samples.subarray(from, Math.min(count, from + this.#blockSize - offset));
      this.#blocks.at(-1)!.set(piece, offset);
      this.#measure(piece);
      this.#length += piece.length;
      from += piece.length;
    }
    return count;
  }

  /** A copy of the samples in `[start, end)`, cut to what is there. */
  slice(start: number, end: number): Int16Array {
    const from = Math.max(0, start);
    const to = Math.max(from, Math.min(end, this.#length));
    const out = new Int16Array(to - from);
    for (let at = from; at < to; ) {
      const block = this.#blocks[Math.floor(at / this.#blockSize)]!;
      const offset = at % this.#blockSize;
      const count = Math.min(to - at, this.#blockSize - offset);
      out.set(block.subarray(offset, offset + count), at - from);
      at += count;
    }
    return out;
  }

  #measure(samples: Int16Array): void {
    for (let i = 0; i < samples.length; i++) {
      const position = this.#length + i;
      if (position % this.#peakSize === 0) {
        this.#peak = 0;
        this.#peaks.push(0);
      }
      const magnitude = Math.abs(samples[i]!);
      if (this.firstAudible === null && magnitude >= AUDIBLE) this.firstAudible = position;
      if (magnitude > this.#peak) {
        this.#peak = magnitude;
        this.#peaks[this.#peaks.length - 1] = magnitude / 32768;
      }
    }
  }
}
