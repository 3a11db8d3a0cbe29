// A loudspeaker without a device, for tests: time is handed in, and it plays as it passes.

import type { PlayoutStatus } from '../audio/playout.ts';
import type { Take } from '../audio/take.ts';
import type { Loudspeaker } from './playing.ts';

export class FakeSpeaker implements Loudspeaker {
  status: PlayoutStatus = AT_REST;
  take: Take | null = null;
  /** Prebuffers asked for, in order. */
  opened: number[] = [];
  stopped = 0;
  #ended = false;

  open(take: Take, prebufferMs: number): void {
    this.take = take;
    this.#ended = false;
    this.opened.push(prebufferMs);
    this.status = { ...AT_REST, state: 'playing' };
  }

  feed(): void {}

  end(): void {
    this.#ended = true;
  }

  stop(): void {
    this.stopped += 1;
    this.take = null;
    this.status = { ...this.status, state: 'ended' };
  }

  heard(_nowMs: number, take: Take): number {
    return take === this.take ? this.status.played : 0;
  }

  /** `ms` pass; what is missing is a stall. */
  play(ms: number, nowMs = 0): void {
    if (this.take === null || this.status.state === 'ended') return;
    const wanted = this.status.played + (ms * this.take.rate) / 1000;
    const played = Math.min(this.take.length, wanted);
    const dry = wanted > this.take.length && !this.#ended;
    const stalledMs = dry ? ((wanted - played) * 1000) / this.take.rate : 0;
    this.status = {
      ...this.status,
      played,
      state: this.#ended && played === this.take.length ? 'ended' : 'playing',
      stallCount: this.status.stallCount + (dry ? 1 : 0),
      stalledMs: this.status.stalledMs + stalledMs,
      worstStallMs: Math.max(this.status.worstStallMs, stalledMs),
      firstHeardMs: this.status.firstHeardMs ?? nowMs,
    };
  }
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

/** `ms` of audible sound at 24 kHz, as bytes. */
export function sound(ms: number): Uint8Array {
  return new Uint8Array(new Int16Array(ms * 24).fill(4_000).buffer);
}
