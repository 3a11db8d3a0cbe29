// The audio thread's end of listening: whatever the device gives, as mono frames of 20 ms at the
// server's rate.
//
// Hot path: `process` runs every 128 samples. It allocates nothing; the frame is one array that is
// reused (posting it copies it).

import { CAPTURE_FRAME, CAPTURE_PROCESSOR, CAPTURE_RATE } from './messages.ts';
import { Resampler } from './resampler.ts';

/** The platform's block; larger ones are taken in pieces. */
const BLOCK = 128;

class CaptureProcessor extends AudioWorkletProcessor {
  readonly #resampler = new Resampler(sampleRate, CAPTURE_RATE);
  readonly #mono = new Float32Array(BLOCK);
  readonly #out = new Float32Array(this.#resampler.mostFrom(BLOCK));
  readonly #frame = new Int16Array(CAPTURE_FRAME);
  #filled = 0;

  override process(inputs: Float32Array[][]): boolean {
    const channels = inputs[0];
    const length = channels?.[0]?.length ?? BLOCK;
    for (let from = 0; from < length; from += BLOCK) this.#take(channels, from);
    return true;
  }

  /** One block; a device that gives nothing gives silence, so that time goes on. */
  #take(channels: Float32Array[] | undefined, from: number): void {
    const count = channels?.length ?? 0;
    for (let i = 0; i < BLOCK; i++) {
      let sum = 0;
      for (let channel = 0; channel < count; channel++) sum += channels![channel]![from + i] ?? 0;
      this.#mono[i] = count === 0 ? 0 : sum / count;
    }
    const written = this.#resampler.push(this.#mono, this.#out);
    for (let i = 0; i < written; i++) this.#append(this.#out[i]!);
  }

  #append(sample: number): void {
    this.#frame[this.#filled++] = Math.round(Math.max(-1, Math.min(1, sample)) * 32767);
    if (this.#filled < CAPTURE_FRAME) return;
    this.port.postMessage(this.#frame);
    this.#filled = 0;
  }
}

registerProcessor(CAPTURE_PROCESSOR, CaptureProcessor);
