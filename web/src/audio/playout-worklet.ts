// The audio thread's end of playout: a ring buffer, a playhead, and a report every few blocks.
//
// Hot path: `process` runs every 128 samples. It allocates nothing, logs nothing and takes no lock;
// the report is one array that is reused (posting it copies it).

import { PROCESSOR, REPORT, RING_CAPACITY, STATES, type ToWorklet } from './messages.ts';
import { Playhead } from './playhead.ts';
import { RingBuffer } from './ring-buffer.ts';

/** Blocks between two reports: 4 * 128 samples are 21 ms at 24 kHz, about one screen frame. */
const BLOCKS_PER_REPORT = 4;

class PlayoutProcessor extends AudioWorkletProcessor {
  readonly #ring = new RingBuffer(RING_CAPACITY);
  readonly #playhead = new Playhead(this.#ring);
  readonly #report = new Float64Array(REPORT.length);
  #take = 0;
  #blocks = 0;

  constructor() {
    super();
    this.port.onmessage = (event: MessageEvent<ToWorklet>) => this.#handle(event.data);
  }

  override process(_inputs: Float32Array[][], outputs: Float32Array[][]): boolean {
    const channels = outputs[0];
    const first = channels?.[0];
    if (channels === undefined || first === undefined) return true;
    const before = this.#playhead.state;
    this.#playhead.fill(first);
    for (let channel = 1; channel < channels.length; channel++) channels[channel]!.set(first);
    this.#blocks += 1;
    const changed = before !== this.#playhead.state;
    if (changed || (this.#blocks % BLOCKS_PER_REPORT === 0 && before !== 'idle' && before !== 'ended')) {
      this.#post(first.length);
    }
    return true;
  }

  #handle(message: ToWorklet): void {
    switch (message.type) {
      case 'open':
        this.#take = message.take;
        this.#playhead.open(message.prebuffer);
        break;
      case 'samples':
        // The page writes only what it knows to fit; samples of an earlier take come too late.
        if (message.take === this.#take) this.#ring.write(message.samples);
        break;
      case 'end':
        if (message.take === this.#take) this.#playhead.end();
        break;
      case 'stop':
        this.#playhead.stop();
        break;
    }
  }

  #post(block: number): void {
    const report = this.#report;
    report[REPORT.take] = this.#take;
    report[REPORT.state] = STATES.indexOf(this.#playhead.state);
    report[REPORT.frame] = currentFrame + block;
    report[REPORT.played] = this.#playhead.played;
    report[REPORT.buffered] = this.#playhead.buffered;
    report[REPORT.stallCount] = this.#playhead.stallCount;
    report[REPORT.stalledSamples] = this.#playhead.stalledSamples;
    report[REPORT.worstStall] = this.#playhead.worstStall;
    report[REPORT.energy] = this.#playhead.energy;
    this.port.postMessage(report);
  }
}

registerProcessor(PROCESSOR, PlayoutProcessor);
