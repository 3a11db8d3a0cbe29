// Bytes of 16-bit little-endian mono PCM to samples and back. A network cuts bytes where it likes,
// so half a sample may have to wait for its other half.

/** Turns a stream of byte pieces into samples, whatever their cuts. */
export class PcmReader {
  #half: number | null = null;

  /** The samples that are complete with `bytes`; -32768..32767. */
  push(bytes: Uint8Array): Int16Array {
    const carried = this.#half === null ? 0 : 1;
    const count = (bytes.length + carried) >> 1;
    const samples = new Int16Array(count);
    let at = 0;
    let index = 0;
    if (this.#half !== null && bytes.length > 0) {
      samples[index++] = this.#half | (bytes[at++]! << 8);
      this.#half = null;
    }
    for (; at + 1 < bytes.length; at += 2) samples[index++] = bytes[at]! | (bytes[at + 1]! << 8);
    if (at < bytes.length) this.#half = bytes[at]!;
    return samples;
  }

  /** Whether the stream was cut inside a sample. */
  get cutShort(): boolean {
    return this.#half !== null;
  }
}

/** `samples` scaled to -1..1. */
export function floatFromPcm(samples: Int16Array): Float32Array<ArrayBuffer> {
  const floats = new Float32Array(samples.length);
  for (let i = 0; i < samples.length; i++) floats[i] = samples[i]! / 32768;
  return floats;
}

/** Root mean square of `samples`, 0..1. */
export function rmsOf(samples: Int16Array): number {
  let energy = 0;
  for (let i = 0; i < samples.length; i++) energy += samples[i]! * samples[i]!;
  return samples.length === 0 ? 0 : Math.sqrt(energy / samples.length) / 32768;
}
