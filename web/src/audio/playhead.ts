// Where playout stands, decided on the audio thread: when to start, when it ran dry, when it ended.
//
// The state machine knows no clock and no AudioWorklet: it is handed a block to fill and counts in
// samples. Hot path: `fill` runs on the audio thread and allocates nothing.
//
//   idle ──open──▶ filling ──enough──▶ playing ──dry──▶ stalled ──enough──▶ playing
//                                         └──dry and ended──▶ ended

import type { RingBuffer } from './ring-buffer.ts';

export type PlayheadState = 'idle' | 'filling' | 'playing' | 'stalled' | 'ended';

export class Playhead {
  state: PlayheadState = 'idle';
  /** Samples handed to the loudspeaker since `open`. */
  played = 0;
  /**
   * Times that playout ran dry with samples still to come. Waiting for the first samples is no
   * stall, and neither is running dry where nothing follows: nobody hears that.
   */
  stallCount = 0;
  /** The sum of the squares of all samples played: what proves that something was heard. */
  energy = 0;

  readonly #ring: RingBuffer;
  #prebuffer = 0;
  #pastStalled = 0;
  #pastWorst = 0;
  #stalledNow = 0;
  #inputEnded = false;
  #fadingOut = false;

  constructor(ring: RingBuffer) {
    this.#ring = ring;
  }

  /** Samples that wait for playout. */
  get buffered(): number {
    return this.#ring.length;
  }

  /** Samples of silence played while stalled, all stalls together. */
  get stalledSamples(): number {
    return this.#pastStalled + this.#stalledNow;
  }

  /** The longest stall, in samples. */
  get worstStall(): number {
    return Math.max(this.#pastWorst, this.#stalledNow);
  }

  /** Starts anew. Playout begins, and goes on after a stall, once `prebuffer` samples wait. */
  open(prebuffer: number): void {
    this.#ring.clear();
    this.#prebuffer = Math.min(Math.max(1, prebuffer), this.#ring.capacity);
    this.#pastStalled = 0;
    this.#pastWorst = 0;
    this.#stalledNow = 0;
    this.#inputEnded = false;
    this.#fadingOut = false;
    this.state = 'filling';
    this.played = 0;
    this.stallCount = 0;
    this.energy = 0;
  }

  /** No more samples follow: what waits is played without waiting for the prebuffer. */
  end(): void {
    this.#inputEnded = true;
  }

  /** Ends within one block. The block fades out, since a cut wave clicks. */
  stop(): void {
    if (this.state === 'playing') this.#fadingOut = true;
    else this.#finish();
  }

  /** Fills one block with samples or silence, and moves the state on. */
  fill(out: Float32Array): void {
    if (this.state === 'idle' || this.state === 'ended') {
      out.fill(0);
      return;
    }
    if (this.state !== 'playing' && !this.#mayPlay()) {
      out.fill(0);
      if (this.state === 'stalled') this.#stalledNow += out.length;
      return;
    }
    if (this.state !== 'playing' && this.#ring.length === 0) {
      // filling | stalled => ended: nothing came before the end.
      if (this.state === 'stalled') this.#forgetStall();
      this.#finish();
      out.fill(0);
      return;
    }
    // filling | stalled => playing: enough waits, or nothing more will come.
    if (this.state === 'stalled') this.#closeStall();
    this.state = 'playing';
    this.#play(out);
  }

  #mayPlay(): boolean {
    return this.#inputEnded || this.#ring.length >= this.#prebuffer;
  }

  #play(out: Float32Array): void {
    const count = this.#ring.read(out);
    if (this.#fadingOut) fadeOut(out, count);
    for (let i = 0; i < count; i++) this.energy += out[i]! * out[i]!;
    this.played += count;
    if (count < out.length) out.fill(0, count);
    if (this.#fadingOut || (this.#inputEnded && this.#ring.length === 0)) {
      // playing => ended: told to stop, or the last sample is out.
      this.#finish();
    } else if (count < out.length) {
      // playing => stalled: the block could not be filled and more is to come.
      this.state = 'stalled';
      this.stallCount += 1;
      this.#stalledNow = out.length - count;
    }
  }

  #closeStall(): void {
    this.#pastWorst = this.worstStall;
    this.#pastStalled += this.#stalledNow;
    this.#stalledNow = 0;
  }

  #forgetStall(): void {
    this.stallCount -= 1;
    this.#stalledNow = 0;
  }

  #finish(): void {
    this.state = 'ended';
    this.#fadingOut = false;
    this.#ring.clear();
  }
}

function fadeOut(out: Float32Array, count: number): void {
  for (let i = 0; i < count; i++) out[i] = out[i]! * (1 - (i + 1) / count);
}
