import assert from 'node:assert/strict';
import { test } from 'node:test';
import { figuresOf, formatMs, formatRatio, formatSeconds } from './figures.ts';
import { Utterance } from './utterance.ts';

const RESTING = { played: 0, stallCount: 0, stalledMs: 0, firstHeardMs: null };

function spoken(): Utterance {
  const utterance = new Utterance('x');
  utterance.handleSent(1000);
  utterance.handleStarted(24_000);
  utterance.handleAnswered(1020);
  utterance.handleAudio(new Uint8Array(4800), 1080); // 100 ms of silence
  utterance.handleAudio(new Uint8Array(2 * 45_600).fill(0x20), 1500);
  return utterance;
}

test('every figure follows its formula', () => {
  const figures = figuresOf(spoken(), { played: 24_000, stallCount: 2, stalledMs: 55, firstHeardMs: 1200 });
  assert.deepEqual(figures, {
    ttfb: 20,
    ttfc: 80,
    ttfa: 300, // first sample heard at 200 ms, then 100 ms of silence
    rtf: 0.25, // 500 ms for 2 s
    serverRtf: null,
    buffered: 1000,
    stallCount: 2,
    stalled: 55,
    audioSeconds: 2,
    chunkCount: 2,
  });
});

test('what is not known yet is null', () => {
  const asked = new Utterance('x');
  asked.handleSent(0);
  const figures = figuresOf(asked, RESTING);
  assert.deepEqual([figures.ttfb, figures.ttfc, figures.ttfa, figures.rtf, figures.buffered], [null, null, null, null, null]);
  assert.equal(figuresOf(spoken(), RESTING).ttfa, null);
});

test('figures are written for people', () => {
  const cases: [string, string][] = [
    [formatMs(null), '–'],
    [formatMs(1.26), '1.3 ms'],
    [formatMs(9.97), '10 ms'],
    [formatMs(999.4), '999 ms'],
    [formatMs(999.6), '1.00 s'],
    [formatRatio(null), '–'],
    [formatRatio(0.0123), '0.012'],
    [formatRatio(0.25), '0.25'],
    [formatRatio(12), '12.00'],
    [formatSeconds(7.44), '7.4 s'],
    [formatSeconds(65.9), '1:05'],
  ];
  for (const [got, expected] of cases) assert.equal(got, expected);
});
