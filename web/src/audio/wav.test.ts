import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wavFromSamples } from './wav.ts';

test('the header states what follows, field by field', () => {
  const wav = wavFromSamples(Int16Array.of(1, -2, 32767), 24_000);
  const view = new DataView(wav.buffer);
  const tag = (at: number) => String.fromCharCode(...wav.subarray(at, at + 4));
  assert.deepEqual([tag(0), tag(8), tag(12), tag(36)], ['RIFF', 'WAVE', 'fmt ', 'data']);
  assert.equal(view.getUint32(4, true), wav.length - 8);
  assert.deepEqual([view.getUint16(20, true), view.getUint16(22, true), view.getUint16(34, true)], [1, 1, 16]);
  assert.deepEqual([view.getUint32(24, true), view.getUint32(28, true), view.getUint16(32, true)], [24_000, 48_000, 2]);
  assert.equal(view.getUint32(40, true), 6);
  assert.deepEqual([44, 46, 48].map((at) => view.getInt16(at, true)), [1, -2, 32767]);
});

test('no samples make a valid empty file', () => {
  assert.equal(wavFromSamples(new Int16Array(0), 24_000).length, 44);
});
