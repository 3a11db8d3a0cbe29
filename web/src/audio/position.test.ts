import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heardSample, pageMsFromFrame } from './position.ts';

const RATE = 24_000;

test('while playing the position moves with the clock', () => {
  const report = { playing: true, played: 4800, heardAtMs: 1000 };
  assert.equal(heardSample(report, 1000, RATE, 48_000), 4800);
  assert.equal(heardSample(report, 1010, RATE, 48_000), 5040);
  assert.equal(heardSample(report, 950, RATE, 48_000), 3600);
});

test('the position stays within what has been received', () => {
  const report = { playing: true, played: 4800, heardAtMs: 1000 };
  assert.equal(heardSample(report, 60_000, RATE, 5000), 5000);
  assert.equal(heardSample(report, 0, RATE, 5000), 0);
  assert.equal(heardSample(null, 0, RATE, 5000), 0);
});

test('a stalled or ended playout stands still once all is heard', () => {
  const report = { playing: false, played: 4800, heardAtMs: 1000 };
  assert.equal(heardSample(report, 990, RATE, 48_000), 4560);
  assert.equal(heardSample(report, 1000, RATE, 48_000), 4800);
  assert.equal(heardSample(report, 5000, RATE, 48_000), 4800);
});

test('a frame of the context has a time of the page', () => {
  assert.equal(pageMsFromFrame(48_000, RATE, { contextSeconds: 1.5, pageMs: 10_000 }), 10_500);
});
