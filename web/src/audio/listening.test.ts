import assert from 'node:assert/strict';
import { test } from 'node:test';
import { base64FromBytes, base64FromPcm, bytesFromBase64 } from './base64.ts';
import { rmsOf } from './pcm.ts';
import { Prebuffer } from './prebuffer.ts';
import { SpeechGate } from './speech-gate.ts';

test('bytes survive base64, whatever their number', () => {
  for (const length of [0, 1, 2, 3, 8_191, 8_192, 8_193, 100_000]) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 7) % 256);
    assert.deepEqual(bytesFromBase64(base64FromBytes(bytes)), bytes, `${length} bytes`);
  }
  assert.equal(bytesFromBase64('%%%'), null);
});

test('samples go out as 16-bit little-endian', () => {
  assert.deepEqual([...bytesFromBase64(base64FromPcm(Int16Array.of(1, -2, 0x1234)))!], [1, 0, 254, 255, 0x34, 0x12]);
});

test('loudness is the root mean square', () => {
  assert.equal(rmsOf(new Int16Array(0)), 0);
  assert.equal(rmsOf(Int16Array.of(16_384, -16_384)), 0.5);
});

test('a prebuffer covers the stall that was heard, and comes down without one', () => {
  const prebuffer = new Prebuffer();
  assert.equal(prebuffer.ms, 40);
  prebuffer.handleHeard(100);
  assert.equal(prebuffer.ms, 180);
  for (let i = 0; i < 20; i++) prebuffer.handleHeard(0);
  assert.ok(prebuffer.ms > 40 && prebuffer.ms < 45);
  for (let i = 0; i < 20; i++) prebuffer.handleHeard(5_000);
  assert.equal(prebuffer.ms, 800);
});

/** Feeds 20 ms pieces of those levels from `fromMs` on; returns when they end. */
function listen(gate: SpeechGate, fromMs: number, levels: number[]): number {
  levels.forEach((rms, i) => gate.handleLevel(rms, fromMs + 20 * (i + 1)));
  return fromMs + 20 * levels.length;
}

const times = (count: number, level: number) => new Array<number>(count).fill(level);

test('speech begins with its first loud piece and ends with its last, over pauses', () => {
  const gate = new SpeechGate();
  let now = listen(gate, 0, times(50, 0.001));
  assert.deepEqual([gate.startMs, gate.endMs], [null, null]);
  now = listen(gate, now, [...times(20, 0.1), ...times(10, 0.001), ...times(20, 0.1)]);
  assert.deepEqual([gate.startMs, gate.endMs], [1_020, 2_000]);
  now = listen(gate, now, times(50, 0.001));
  listen(gate, now, times(5, 0.1));
  assert.equal(gate.startMs, 3_020, 'a long pause begins anew');
});

test('neither zeros nor an even noise are speech', () => {
  const gate = new SpeechGate();
  listen(gate, 0, times(50, 0));
  assert.equal(gate.endMs, null);
  const now = listen(gate, 1_000, times(500, 0.05));
  const { endMs } = gate;
  listen(gate, now, times(50, 0.05));
  assert.equal(gate.endMs, endMs, 'a fan that runs is not heard any more');
  listen(gate, now + 1_000, times(5, 0.4));
  assert.equal(gate.endMs, now + 1_100, 'a voice over it is');
});
