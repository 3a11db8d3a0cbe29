import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RingBuffer } from './ring-buffer.ts';

test('what goes in comes out in order, whatever the pieces', () => {
  const ring = new RingBuffer(7);
  const heard: number[] = [];
  let next = 0;
  for (const [write, read] of [[3, 2], [5, 4], [7, 7], [1, 0], [6, 7], [0, 3]] as const) {
    const piece = Float32Array.from({ length: write }, (_, i) => next + i);
    next += ring.write(piece);
    const out = new Float32Array(read);
    heard.push(...out.subarray(0, ring.read(out)));
  }
  assert.deepEqual(heard, Array.from({ length: heard.length }, (_, i) => i));
  assert.equal(heard.length + ring.length, next);
});

test('a full buffer takes what fits and says how much', () => {
  const ring = new RingBuffer(4);
  assert.equal(ring.write(Float32Array.of(1, 2, 3)), 3);
  assert.equal(ring.write(Float32Array.of(4, 5, 6)), 1);
  assert.equal(ring.room, 0);
  const out = new Float32Array(6);
  assert.equal(ring.read(out), 4);
  assert.deepEqual([...out], [1, 2, 3, 4, 0, 0]);
});

test('reading starts where it is told', () => {
  const ring = new RingBuffer(4);
  ring.write(Float32Array.of(1, 2));
  const out = new Float32Array(3).fill(9);
  assert.equal(ring.read(out, 1), 2);
  assert.deepEqual([...out], [9, 1, 2]);
});

test('a capacity below one sample is refused', () => {
  for (const capacity of [0, -1, 1.5, Number.NaN]) assert.throws(() => new RingBuffer(capacity), RangeError);
});
