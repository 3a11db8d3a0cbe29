import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_SECONDS, Take } from './take.ts';

const RATE = 1000;

test('a slice is what was appended, over the borders of blocks', () => {
  const take = new Take(RATE);
  const all = Int16Array.from({ length: 3500 }, (_, i) => i - 1700);
  for (let at = 0, size = 1; at < all.length; at += size++) take.append(all.subarray(at, at + size));
  assert.equal(take.length, 3500);
  assert.equal(take.seconds, 3.5);
  for (const [from, to] of [[0, 3500], [999, 1001], [1000, 2000], [1234, 3456], [3400, 9999], [5, 5]] as const) {
    assert.deepEqual([...take.slice(from, to)], [...all.subarray(from, to)], `${from}..${to}`);
  }
});

test('peaks are the highest magnitude of each hundredth', () => {
  const take = new Take(RATE);
  take.append(Int16Array.from({ length: 15 }, (_, i) => (i === 3 ? -16384 : i === 12 ? 8192 : 0)));
  assert.deepEqual([...take.peaks], [0.5, 0.25]);
  take.append(Int16Array.from([32767]));
  assert.ok(take.peaks[1]! > 0.99);
});

test('the first audible sample is found once, and silence has none', () => {
  const take = new Take(RATE);
  take.append(new Int16Array(40).fill(20));
  assert.equal(take.firstAudible, null);
  take.append(Int16Array.of(20, 20, -200, 0, 30000));
  assert.equal(take.firstAudible, 42);
});

test('a full take refuses the rest', () => {
  const take = new Take(RATE);
  const minute = new Int16Array(60 * RATE);
  for (let i = 0; i < MAX_SECONDS / 60 - 1; i++) take.append(minute);
  assert.equal(take.append(new Int16Array(60 * RATE + 5)), 60 * RATE);
  assert.equal(take.full, true);
  assert.equal(take.append(Int16Array.of(1)), 0);
  assert.equal(take.seconds, MAX_SECONDS);
});
