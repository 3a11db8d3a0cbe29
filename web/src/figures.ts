// What an utterance costs, by the formulas that the page prints beside the figures.
//
//   TTFB      first byte of an answer             - text sent
//   TTFC      first byte of audio                 - text sent
//   TTFA      first audible sample (> -50 dB) leaves the loudspeaker - text sent
//   RTF       (last byte of audio - text sent) / seconds of audio
//   buffered  audio received and not yet heard
//   stall     playout ran dry while audio was still to come
//
// All times are the page's own clock, so the network and the device are in them.

import type { PlayoutStatus } from './audio/playout.ts';
import type { Utterance } from './utterance.ts';

/** Milliseconds unless the name says otherwise; null is "not known yet". */
export interface Figures {
  ttfb: number | null;
  ttfc: number | null;
  ttfa: number | null;
  rtf: number | null;
  serverRtf: number | null;
  buffered: number | null;
  stallCount: number;
  stalled: number;
  audioSeconds: number;
  chunkCount: number;
}

type Playing = Pick<PlayoutStatus, 'played' | 'stallCount' | 'stalledMs' | 'firstHeardMs'>;

export function figuresOf(utterance: Utterance, playout: Playing): Figures {
  const { marks, take } = utterance;
  const since = (mark: number | null) => (mark === null || marks.sent === null ? null : mark - marks.sent);
  const seconds = take?.seconds ?? 0;
  const arrival = since(marks.lastChunk);
  return {
    ttfb: since(marks.firstByte),
    ttfc: since(marks.firstChunk),
    ttfa: since(audibleAt(utterance, playout)),
    rtf: arrival === null || seconds === 0 ? null : arrival / 1000 / seconds,
    serverRtf: utterance.serverRtf,
    buffered: take === null ? null : (Math.max(0, take.length - playout.played) * 1000) / take.rate,
    stallCount: playout.stallCount,
    stalled: playout.stalledMs,
    audioSeconds: seconds,
    chunkCount: utterance.chunkCount,
  };
}

function audibleAt(utterance: Utterance, playout: Playing): number | null {
  const { take } = utterance;
  if (take === null || take.firstAudible === null || playout.firstHeardMs === null) return null;
  return playout.firstHeardMs + (take.firstAudible * 1000) / take.rate;
}

/** `ms` for people: three significant digits, in ms or s. */
export function formatMs(ms: number | null): string {
  if (ms === null) return '–';
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  return ms < 999.5 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

/** A ratio for people. */
export function formatRatio(ratio: number | null): string {
  if (ratio === null) return '–';
  return ratio < 0.0995 ? ratio.toFixed(3) : ratio.toFixed(2);
}

/** Seconds of audio for people: `7.4 s`, `1:05`. */
export function formatSeconds(seconds: number): string {
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}
