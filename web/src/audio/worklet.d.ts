// What the platform gives an AudioWorklet and TypeScript's DOM library leaves out.

declare abstract class AudioWorkletProcessor {
  readonly port: MessagePort;
  process(inputs: Float32Array[][], outputs: Float32Array[][]): boolean;
}

declare function registerProcessor(name: string, processor: new () => AudioWorkletProcessor): void;

/** The context's position, in sample frames, at the start of the current block. */
declare const currentFrame: number;

/** The context's samples per second. */
declare const sampleRate: number;
