// What both speech doors look like to the page: text goes in piece by piece, events come out.

import type { SpeechOptions, Word } from '../protocol.ts';

/** What a door tells the page, in this order; audio and words as often as they come. */
export interface SpeechEvents {
  /** The first text has left for the server. */
  sent(): void;
  /** The first byte of an answer is here. */
  answered(): void;
  /** Audio follows, at `rate` samples per second: 16-bit little-endian mono. */
  started(rate: number): void;
  audio(bytes: Uint8Array): void;
  words(words: Word[]): void;
  /** All audio is here. `serverRtf` is the server's own figure, where it gives one. */
  done(serverRtf: number | null): void;
  /** It ended otherwise, and nothing follows. `message` says it in words. */
  failed(message: string): void;
}

/** One utterance on its way. */
export interface Speech {
  /** More text. Nothing after `finish`. */
  send(text: string): void;
  /** The text is complete. */
  finish(): void;
  /** Ends it at once; the server stops working, and no event follows. */
  cancel(): void;
}

/** A door of the server. */
export interface Transport {
  /** Whether text can still be added while audio comes. */
  readonly incremental: boolean;
  open(options: SpeechOptions, events: SpeechEvents): Speech;
}

export const UNREACHABLE = 'The server cannot be reached. Is it still running?';
export const LOST = 'The connection to the server was lost before the audio was complete.';
