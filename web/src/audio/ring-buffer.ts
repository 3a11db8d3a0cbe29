// A bounded queue of samples between the page and the audio thread.
//
// Hot path: `read` runs on the audio thread. Nothing here allocates after the constructor. A full
// buffer takes what fits and says how much that was; it never drops samples that it has taken.

export class RingBuffer {
  readonly capacity: number;
  readonly #samples: Float32Array;
  #head = 0;
  #length = 0;

  /** `capacity` is in samples and at least 1. */
  constructor(capacity: number) {
    if (!Number.isInteger(capacity) || capacity < 1) {
      throw new RangeError(`a ring buffer needs a capacity of at least 1 sample, not ${capacity}`);
    }
    this.capacity = capacity;
    this.#samples = new Float32Array(capacity);
  }

  /** Samples that wait to be read. */
  get length(): number {
    return this.#length;
  }

  /** Samples that still fit. */
  get room(): number {
    return this.capacity - this.#length;
  }

  /** Takes as many samples as fit, from the front of `samples`; returns how many. */
  write(samples: Float32Array): number {
    const count = Math.min(samples.length, this.room);
    let at = (this.#head + this.#length) % this.capacity;
    for (let i = 0; i < count; i++) {
      this.#samples[at] = samples[i]!;
      at = at + 1 === this.capacity ? 0 : at + 1;
    }
    this.#length += count;
    return count;
  }

  /** Fills `out` from `from` on with what waits; returns how many samples that were. */
  read(out: Float32Array, from = 0): number {
    const count = Math.min(out.length - from, this.#length);
    let at = this.#head;
    for (let i = 0; i < count; i++) {
      out[from + i] = this.#samples[at]!;
      at = at + 1 === this.capacity ? 0 : at + 1;
    }
    this.#head = at;
    this.#length -= count;
    return count;
  }

  clear(): void {
    this.#head = 0;
    this.#length = 0;
  }
}
