// The page's end of playout: opens the audio device at the stream's rate, feeds the audio thread
// from a take as it has room, and knows what is heard right now.
//
// One take plays at a time. The context runs at the stream's own rate, so the platform's resampler
// does the rest of the way to the device.

import { PROCESSOR, REPORT, RING_CAPACITY, STATES, type ToWorklet } from './messages.ts';
import { floatFromPcm } from './pcm.ts';
import type { PlayheadState } from './playhead.ts';
import { heardSample, pageMsFromFrame, type Report } from './position.ts';
import type { Take } from './take.ts';

const WORKLET_URL = new URL('playout-worklet.js', import.meta.url);

/** Samples in one message to the audio thread: a third of a second at 24 kHz. */
const PIECE = 8_192;

/** What playout has done so far with the current take. */
export interface PlayoutStatus {
  state: PlayheadState;
  played: number;
  buffered: number;
  stallCount: number;
  stalledMs: number;
  worstStallMs: number;
  /** Root mean square of all samples played, 0..1. */
  rms: number;
  /** Page time at which the first sample was heard. */
  firstHeardMs: number | null;
}

const AT_REST: PlayoutStatus = {
  state: 'idle',
  played: 0,
  buffered: 0,
  stallCount: 0,
  stalledMs: 0,
  worstStallMs: 0,
  rms: 0,
  firstHeardMs: null,
};

export class Playout {
  status: PlayoutStatus = AT_REST;
  /** Called after each report of the audio thread. */
  onReport: (() => void) | null = null;

  #context: AudioContext | null = null;
  #node: AudioWorkletNode | null = null;
  #take: Take | null = null;
  #takeId = 0;
  #sent = 0;
  #inputEnded = false;
  #endTold = false;
  #report: Report | null = null;
  #stallPositions: number[] = [];

  /** Opens the audio device. Called within a user's gesture, since browsers ask for one. */
  async prepare(rate: number): Promise<void> {
    if (this.#context !== null && this.#context.sampleRate !== rate) await this.close();
    if (this.#context === null) await this.#openDevice(rate);
    if (this.#context?.state === 'suspended') await this.#context.resume();
  }

  async #openDevice(rate: number): Promise<void> {
    const context = new AudioContext({ sampleRate: rate, latencyHint: 'interactive' });
    try {
      await context.audioWorklet.addModule(WORKLET_URL);
    } catch {
      await context.close();
      throw new Error('the part of the page that plays audio could not be loaded from the server');
    }
    const node = new AudioWorkletNode(context, PROCESSOR, { numberOfInputs: 0, outputChannelCount: [1] });
    node.port.onmessage = (event: MessageEvent<Float64Array>) => this.#handle(event.data);
    node.connect(context.destination);
    this.#context = context;
    this.#node = node;
  }

  /** Starts playing `take`, which may still grow. `prepare` has opened its rate before. */
  open(take: Take, prebufferMs: number): void {
    this.#take = take;
    this.#takeId += 1;
    this.#sent = 0;
    this.#inputEnded = false;
    this.#endTold = false;
    this.#report = null;
    this.#stallPositions = [];
    this.status = { ...AT_REST, state: 'filling' };
    this.#tell({ type: 'open', take: this.#takeId, prebuffer: Math.round((prebufferMs * take.rate) / 1000) });
    this.feed();
  }

  /** Hands the audio thread what it has room for. Called when the take has grown. */
  feed(): void {
    const take = this.#take;
    if (take === null) return;
    // What it holds at most: all it was sent and has not reported as played.
    let room = RING_CAPACITY - (this.#sent - this.status.played);
    while (room > 0 && this.#sent < take.length) {
      const samples = floatFromPcm(take.slice(this.#sent, this.#sent + Math.min(PIECE, room)));
      this.#sent += samples.length;
      room -= samples.length;
      this.#tell({ type: 'samples', take: this.#takeId, samples }, [samples.buffer]);
    }
    if (this.#inputEnded && !this.#endTold && this.#sent === take.length) {
      this.#endTold = true;
      this.#tell({ type: 'end', take: this.#takeId });
    }
  }

  /** The take does not grow any more. */
  end(): void {
    this.#inputEnded = true;
    this.feed();
  }

  /** Falls silent within a block. */
  stop(): void {
    this.#take = null;
    this.#tell({ type: 'stop' });
  }

  /** The sample that is heard at `nowMs`. */
  heard(nowMs: number, take: Take): number {
    return heardSample(this.#report, nowMs, take.rate, take.length);
  }

  /** Where playout ran dry, in samples of the take. */
  get stallPositions(): readonly number[] {
    return this.#stallPositions;
  }

  async close(): Promise<void> {
    this.#node?.disconnect();
    this.#node = null;
    const context = this.#context;
    this.#context = null;
    await context?.close();
  }

  #tell(message: ToWorklet, transfer: Transferable[] = []): void {
    this.#node?.port.postMessage(message, transfer);
  }

  #handle(report: Float64Array): void {
    const context = this.#context;
    if (context === null || report[REPORT.take] !== this.#takeId) return;
    const rate = context.sampleRate;
    const played = report[REPORT.played]!;
    const before = this.status;
    const state = STATES[report[REPORT.state]!] ?? 'idle';
    const heardAtMs = heardAt(context, report[REPORT.frame]!);
    if (state === 'stalled' && before.state !== 'stalled') this.#stallPositions.push(played);
    this.#report = { playing: state === 'playing', played, heardAtMs };
    this.status = {
      state,
      played,
      buffered: report[REPORT.buffered]!,
      stallCount: report[REPORT.stallCount]!,
      stalledMs: (report[REPORT.stalledSamples]! * 1000) / rate,
      worstStallMs: (report[REPORT.worstStall]! * 1000) / rate,
      rms: played === 0 ? 0 : Math.sqrt(report[REPORT.energy]! / played),
      firstHeardMs: before.firstHeardMs ?? (played > 0 ? heardAtMs - (played * 1000) / rate : null),
    };
    // A stall that turns out to be the end is taken back.
    this.#stallPositions.length = Math.min(this.#stallPositions.length, this.status.stallCount);
    this.feed();
    this.onReport?.();
  }
}

function heardAt(context: AudioContext, frame: number): number {
  const stamp = context.getOutputTimestamp();
  const clock =
    stamp.contextTime !== undefined && stamp.performanceTime !== undefined && stamp.performanceTime > 0
      ? { contextSeconds: stamp.contextTime, pageMs: stamp.performanceTime }
      : { contextSeconds: context.currentTime - (context.outputLatency || 0), pageMs: performance.now() };
  return pageMsFromFrame(frame, context.sampleRate, clock);
}
