import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Backoff } from './backoff.ts';

test('each wait is twice the one before, up to a bound, and a success begins anew', () => {
  const backoff = new Backoff();
  assert.deepEqual(Array.from({ length: 7 }, () => backoff.next(1)), [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
  assert.equal(backoff.failures, 7);
  backoff.reset();
  assert.equal(backoff.next(0), 375);
});
