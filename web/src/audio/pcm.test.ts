import assert from 'node:assert/strict';
import { test } from 'node:test';
import { floatFromPcm, PcmReader } from './pcm.ts';

const SAMPLES = [0, 1, -1, 32767, -32768, 258, -259];

function bytesOf(samples: number[]): Uint8Array {
  return new Uint8Array(Int16Array.from(samples).buffer);
}

test('any cut of the bytes gives the same samples', () => {
  const bytes = bytesOf(SAMPLES);
  for (let first = 0; first <= bytes.length; first++) {
    for (let second = first; second <= bytes.length; second++) {
      const reader = new PcmReader();
      const pieces = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
      assert.deepEqual(pieces.flatMap((piece) => [...reader.push(piece)]), SAMPLES, `cuts at ${first}, ${second}`);
      assert.equal(reader.cutShort, false);
    }
  }
});

test('half a sample at the end is noticed', () => {
  const reader = new PcmReader();
  assert.deepEqual([...reader.push(Uint8Array.of(1, 0, 7))], [1]);
  assert.equal(reader.cutShort, true);
});

test('samples are scaled to one', () => {
  assert.deepEqual([...floatFromPcm(Int16Array.of(0, 16384, -32768))], [0, 0.5, -1]);
});
