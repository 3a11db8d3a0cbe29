// Samples at one rate to samples at another, as a stream: any device's rate to the server's.
//
// Each output is a windowed sinc over the inputs around it, with the cut-off below the lower of the
// two Nyquist rates. Any split of the input gives the same output.
//
//   y(t) = sum over k of x[k] h(k - t),   h(u) = c sinc(c u) w(u / H),   w Blackman, zero at |u| >= H
//
// Hot path: `push` runs on the audio thread. Nothing allocates after the constructor.

/** Zero crossings of the sinc on each side. */
const ZEROS = 16;
/** Share of the lower Nyquist rate that passes; the rest is the filter's slope. */
const PASSED = 0.9;
/** Filters for this many positions between two inputs; the nearest two are mixed. */
const PHASES = 128;

export class Resampler {
  /** Inputs per output. */
  readonly #step: number;
  readonly #taps: number;
  /** `PHASES + 1` filters of `#taps`. */
  readonly #filters: Float32Array;
  /** The last inputs, twice in a row, so that any window of them is contiguous. */
  readonly #past: Float32Array;
  #at = 0;
  /** Where the next output stands after the middle of the window, in inputs. */
  #offset = 0;

  constructor(from: number, to: number) {
    for (const rate of [from, to]) {
      if (!Number.isFinite(rate) || rate < 1_000 || rate > 768_000) {
        throw new RangeError(`a rate of ${rate} samples per second; 1000 to 768000 can be converted`);
      }
    }
    this.#step = from / to;
    const half = Math.ceil(ZEROS * Math.max(1, this.#step));
    this.#taps = 2 * half;
    this.#filters = makeFilters(half, PASSED * Math.min(1, to / from));
    this.#past = new Float32Array(2 * this.#taps);
  }

  /** Outputs of `count` inputs at most. */
  mostFrom(count: number): number {
    return Math.ceil(count / this.#step) + 1;
  }

  /** Takes `input` and writes to `out`, from its beginning; returns how many. */
  push(input: Float32Array, out: Float32Array): number {
    let written = 0;
    for (let i = 0; i < input.length; i++) {
      this.#past[this.#at] = input[i]!;
      this.#past[this.#at + this.#taps] = input[i]!;
      this.#at = this.#at + 1 === this.#taps ? 0 : this.#at + 1;
      while (this.#offset < 1) {
        out[written++] = this.#sample(this.#offset);
        this.#offset += this.#step;
      }
      this.#offset -= 1;
    }
    return written;
  }

  #sample(offset: number): number {
    const phase = offset * PHASES;
    const lower = Math.floor(phase);
    const mix = phase - lower;
    const filter = lower * this.#taps;
    let sum = 0;
    for (let k = 0; k < this.#taps; k++) {
      const low = this.#filters[filter + k]!;
      const high = this.#filters[filter + this.#taps + k]!;
      sum += this.#past[this.#at + k]! * (low + mix * (high - low));
    }
    return sum;
  }
}

function makeFilters(half: number, cutoff: number): Float32Array {
  const taps = 2 * half;
  const filters = new Float32Array((PHASES + 2) * taps);
  for (let phase = 0; phase <= PHASES; phase++) {
    const filter = filters.subarray(phase * taps, (phase + 1) * taps);
    let sum = 0;
    for (let k = 0; k < taps; k++) {
      const u = k - (half - 1) - phase / PHASES;
      filter[k] = sinc(cutoff * u) * blackman(u / half);
      sum += filter[k]!;
    }
    // A constant stays what it is.
    for (let k = 0; k < taps; k++) filter[k] = filter[k]! / sum;
  }
  return filters;
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}

/** 1 at 0, 0 at -1 and 1. */
function blackman(x: number): number {
  return Math.abs(x) >= 1 ? 0 : 0.42 + 0.5 * Math.cos(Math.PI * x) + 0.08 * Math.cos(2 * Math.PI * x);
}
