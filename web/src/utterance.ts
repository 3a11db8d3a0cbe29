// One utterance as a state machine: what was asked, what has come, and when.
//
// It knows no clock, socket or loudspeaker. Times are the page's, in milliseconds, and are handed
// in. Late inputs to an utterance that is over are normal and do nothing.
//
//   asking ──first audio──▶ arriving ──done──▶ complete
//      └──────────┴── failed | stopped ──▶ (final)

import { PcmReader } from './audio/pcm.ts';
import { Take } from './audio/take.ts';
import type { Word } from './protocol.ts';
import { WordTimeline } from './words.ts';

export type UtteranceState = 'asking' | 'arriving' | 'complete' | 'failed' | 'stopped';

/** Page times in milliseconds; null is "not yet". */
export interface Marks {
  sent: number | null;
  firstByte: number | null;
  firstChunk: number | null;
  lastChunk: number | null;
}

export class Utterance {
  state: UtteranceState = 'asking';
  readonly marks: Marks = { sent: null, firstByte: null, firstChunk: null, lastChunk: null };
  readonly words: WordTimeline;
  /** The samples, from when their rate is known. */
  take: Take | null = null;
  chunkCount = 0;
  byteCount = 0;
  serverRtf: number | null = null;
  /** Why it failed, in words. */
  error: string | null = null;

  readonly #pcm = new PcmReader();

  constructor(text: string) {
    this.words = new WordTimeline(text);
  }

  get over(): boolean {
    return this.state === 'complete' || this.state === 'failed' || this.state === 'stopped';
  }

  handleSent(nowMs: number): void {
    this.marks.sent ??= nowMs;
  }

  handleAnswered(nowMs: number): void {
    if (!this.over) this.marks.firstByte ??= nowMs;
  }

  /** Audio follows at `rate`. A second start at the same rate goes on in the same take. */
  handleStarted(rate: number): void {
    if (this.over) return;
    if (this.take === null) this.take = new Take(rate);
    else if (this.take.rate !== rate) {
      this.handleFailed(`The audio changed from ${this.take.rate} to ${rate} samples per second on the way.`);
    }
  }

  handleAudio(bytes: Uint8Array, nowMs: number): void {
    if (this.over || bytes.length === 0) return;
    if (this.take === null) {
      this.handleFailed('Audio came before its format was known.');
      return;
    }
    // asking | arriving => arriving
    this.state = 'arriving';
    this.marks.firstByte ??= nowMs;
    this.marks.firstChunk ??= nowMs;
    this.marks.lastChunk = nowMs;
    this.chunkCount += 1;
    this.byteCount += bytes.length;
    this.take.append(this.#pcm.push(bytes));
    if (this.take.full) this.handleFailed('The page holds at most 20 minutes of audio; the rest was left out.');
  }

  handleWords(words: Word[]): void {
    if (!this.over) this.words.append(words);
  }

  handleDone(serverRtf: number | null): void {
    if (this.over) return;
    if (this.take === null || this.take.length === 0) {
      this.handleFailed('The server ended without any audio. Is there something to say in the text?');
      return;
    }
    // arriving => complete
    this.state = 'complete';
    this.serverRtf = serverRtf;
  }

  handleFailed(message: string): void {
    if (this.over) return;
    // asking | arriving => failed
    this.state = 'failed';
    this.error = message;
  }

  handleStopped(): void {
    // asking | arriving => stopped
    if (!this.over) this.state = 'stopped';
  }
}
