import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Playhead } from './playhead.ts';
import { RingBuffer } from './ring-buffer.ts';

const BLOCK = 4;

function setUp(prebuffer: number) {
  const ring = new RingBuffer(64);
  const playhead = new Playhead(ring);
  playhead.open(prebuffer);
  const write = (count: number) => ring.write(new Float32Array(count).fill(0.5));
  const fill = () => {
    const out = new Float32Array(BLOCK).fill(9);
    playhead.fill(out);
    return [...out];
  };
  return { playhead, write, fill };
}

const SILENCE = [0, 0, 0, 0];
const SOUND = [0.5, 0.5, 0.5, 0.5];

test('playout waits for the prebuffer, and that is no stall', () => {
  const { playhead, write, fill } = setUp(8);
  write(7);
  assert.deepEqual(fill(), SILENCE);
  assert.equal(playhead.state, 'filling');
  write(1);
  assert.deepEqual(fill(), SOUND);
  assert.equal(playhead.state, 'playing');
  assert.deepEqual([playhead.played, playhead.stallCount, playhead.stalledSamples], [4, 0, 0]);
});

test('without a prebuffer the first sample starts playout', () => {
  const { playhead, write, fill } = setUp(0);
  assert.deepEqual(fill(), SILENCE);
  write(4);
  assert.deepEqual(fill(), SOUND);
  assert.equal(playhead.stallCount, 0);
});

test('running dry counts one stall and all of its silence', () => {
  const { playhead, write, fill } = setUp(4);
  write(6);
  fill();
  assert.deepEqual(fill(), [0.5, 0.5, 0, 0]);
  assert.equal(playhead.state, 'stalled');
  fill();
  assert.deepEqual([playhead.stallCount, playhead.stalledSamples, playhead.worstStall], [1, 6, 6]);
  write(4);
  assert.deepEqual(fill(), SOUND);
  fill(); // 4 more samples of silence: a second stall, shorter than the first
  write(4);
  fill();
  assert.deepEqual([playhead.stallCount, playhead.stalledSamples, playhead.worstStall], [2, 10, 6]);
});

test('after a stall the prebuffer is waited for again', () => {
  const { playhead, write, fill } = setUp(8);
  write(8);
  fill();
  fill();
  fill();
  write(4);
  assert.deepEqual(fill(), SILENCE);
  write(4);
  assert.deepEqual(fill(), SOUND);
  assert.equal(playhead.stallCount, 1);
});

test('the end is no stall, even when it is known late', () => {
  for (const late of [false, true]) {
    const { playhead, write, fill } = setUp(4);
    write(6);
    fill();
    if (!late) playhead.end();
    assert.deepEqual(fill(), [0.5, 0.5, 0, 0]);
    if (late) {
      assert.equal(playhead.state, 'stalled');
      playhead.end();
      fill();
    }
    assert.deepEqual([playhead.state, playhead.played], ['ended', 6]);
    assert.deepEqual([playhead.stallCount, playhead.stalledSamples, playhead.worstStall], [0, 0, 0]);
  }
});

test('an end before the prebuffer plays what there is', () => {
  const { playhead, write, fill } = setUp(48);
  write(4);
  assert.deepEqual(fill(), SILENCE);
  playhead.end();
  assert.deepEqual(fill(), SOUND);
  assert.equal(playhead.state, 'ended');
});

test('an end without any sample ends', () => {
  const { playhead, fill } = setUp(4);
  playhead.end();
  fill();
  assert.deepEqual([playhead.state, playhead.played], ['ended', 0]);
});

test('stop fades out within one block and drops the rest', () => {
  const { playhead, write, fill } = setUp(4);
  write(32);
  fill();
  playhead.stop();
  assert.deepEqual(fill(), [0.375, 0.25, 0.125, 0]);
  assert.deepEqual([playhead.state, playhead.buffered], ['ended', 0]);
  assert.deepEqual(fill(), SILENCE);
  assert.equal(playhead.played, 8);
});

test('opening again starts from nothing', () => {
  const { playhead, write, fill } = setUp(4);
  write(6);
  fill();
  fill();
  playhead.open(4);
  assert.deepEqual([playhead.state, playhead.played, playhead.stallCount, playhead.energy], ['filling', 0, 0, 0]);
  write(4);
  fill();
  assert.equal(playhead.energy, 1);
});
