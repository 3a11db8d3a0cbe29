// What is played of an answer: items one after another, how much of each has been heard, and what
// is cut when somebody speaks over it.
//
// The audio that is here and has not been heard belongs to nobody yet: an interruption drops all of
// it at once and says, item by item, how much was heard. Audio that comes later for a cut item is
// dropped as well.

import { PcmReader } from '../audio/pcm.ts';
import type { PlayoutStatus } from '../audio/playout.ts';
import { Prebuffer } from '../audio/prebuffer.ts';
import { Take } from '../audio/take.ts';
import { PCM_RATE } from '../protocol.ts';

/** What a loudspeaker does; `Playout` is one. */
export interface Loudspeaker {
  readonly status: PlayoutStatus;
  open(take: Take, prebufferMs: number): void;
  feed(): void;
  end(): void;
  stop(): void;
  heard(nowMs: number, take: Take): number;
}

/** An item whose rest nobody will hear. */
export interface Cut {
  itemId: string;
  contentIndex: number;
  heardMs: number;
}

/** Stalls of all that was heard so far. */
export interface Stalls {
  count: number;
  ms: number;
}

interface Waiting {
  itemId: string;
  contentIndex: number;
  take: Take;
  pcm: PcmReader;
  complete: boolean;
}

/** Items that wait to be played at most; more at once is no conversation. */
const MAX_WAITING = 16;
/** Cut items whose late audio is known. */
const MAX_CUT = 64;

export class Playing {
  readonly #speaker: Loudspeaker;
  readonly #prebuffer = new Prebuffer();
  /** The first one is being played. */
  #queue: Waiting[] = [];
  #started = false;
  #cut: string[] = [];
  #past: Stalls = { count: 0, ms: 0 };

  constructor(speaker: Loudspeaker) {
    this.#speaker = speaker;
  }

  /** Whether anything is played or waits to be. */
  get active(): boolean {
    return this.#queue.length > 0;
  }

  get prebufferMs(): number {
    return this.#prebuffer.ms;
  }

  get stalls(): Stalls {
    if (!this.#started) return this.#past;
    const { stallCount, stalledMs } = this.#speaker.status;
    return { count: this.#past.count + stallCount, ms: this.#past.ms + stalledMs };
  }

  handleAudio(itemId: string, contentIndex: number, bytes: Uint8Array): void {
    if (this.#cut.includes(itemId)) return;
    const waiting = this.#find(itemId, contentIndex) ?? this.#enqueue(itemId, contentIndex);
    if (waiting === null || waiting.complete) return;
    waiting.take.append(waiting.pcm.push(bytes));
    this.#advance();
    if (waiting === this.#queue[0]) this.#speaker.feed();
  }

  handleAudioDone(itemId: string): void {
    for (const waiting of this.#queue) if (waiting.itemId === itemId) waiting.complete = true;
    const current = this.#queue[0];
    if (current?.itemId === itemId && this.#started) this.#speaker.end();
    this.#advance();
  }

  /** The response is over, so nothing more comes of any item. */
  handleResponseDone(): void {
    for (const { itemId } of [...this.#queue]) this.handleAudioDone(itemId);
  }

  /** The loudspeaker has reported. */
  handleReport(): void {
    if (!this.#started || this.#speaker.status.state !== 'ended') return;
    this.#account();
    this.#queue.shift();
    this.#advance();
  }

  /** What is heard at `nowMs`, in milliseconds of its item's audio. */
  heard(nowMs: number): { itemId: string; ms: number; rms: number } | null {
    const current = this.#queue[0];
    if (current === undefined || !this.#started) return null;
    const { itemId, take } = current;
    return { itemId, ms: (this.#speaker.heard(nowMs, take) * 1000) / take.rate, rms: levelAt(take, this.#speaker.heard(nowMs, take)) };
  }

  /** When the first sound of the item that is played was heard. */
  get firstHeardMs(): number | null {
    const take = this.#queue[0]?.take;
    const { firstHeardMs } = this.#speaker.status;
    if (!this.#started || take === undefined || firstHeardMs === null || take.firstAudible === null) return null;
    return firstHeardMs + (take.firstAudible * 1000) / take.rate;
  }

  /** Falls silent at once. */
  interrupt(nowMs: number): Cut[] {
    const cuts = this.#queue.flatMap(({ itemId, contentIndex, take }, index) => {
      if (take.length === 0) return [];
      const heard = index === 0 && this.#started ? this.#speaker.heard(nowMs, take) : 0;
      // Nothing is cut of what was heard to its end.
      if (index === 0 && this.#queue[0]!.complete && heard >= take.length) return [];
      return [{ itemId, contentIndex, heardMs: Math.floor((heard * 1000) / take.rate) }];
    });
    this.#cut = [...this.#cut, ...this.#queue.map(({ itemId }) => itemId)].slice(-MAX_CUT);
    if (this.#started) {
      this.#account();
      this.#speaker.stop();
    }
    this.#queue = [];
    return cuts;
  }

  #find(itemId: string, contentIndex: number): Waiting | undefined {
    return this.#queue.find((waiting) => waiting.itemId === itemId && waiting.contentIndex === contentIndex);
  }

  #enqueue(itemId: string, contentIndex: number): Waiting | null {
    if (this.#queue.length === MAX_WAITING) return null;
    const waiting = { itemId, contentIndex, take: new Take(PCM_RATE), pcm: new PcmReader(), complete: false };
    this.#queue.push(waiting);
    return waiting;
  }

  /** Starts the first item, if it is not being played. */
  #advance(): void {
    const current = this.#queue[0];
    if (this.#started || current === undefined) return;
    if (current.take.length === 0) {
      if (!current.complete) return;
      this.#queue.shift();
      this.#advance();
      return;
    }
    this.#started = true;
    this.#speaker.open(current.take, this.#prebuffer.ms);
    if (current.complete) this.#speaker.end();
  }

  #account(): void {
    const { stallCount, stalledMs, worstStallMs } = this.#speaker.status;
    this.#prebuffer.handleHeard(worstStallMs);
    this.#past = { count: this.#past.count + stallCount, ms: this.#past.ms + stalledMs };
    this.#started = false;
  }
}

/** How loud the take is around `sample`, 0..1. */
function levelAt(take: Take, sample: number): number {
  return take.peaks[Math.floor((sample * take.peaks.length) / Math.max(1, take.length))] ?? 0;
}
