import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_SECONDS } from './audio/take.ts';
import { Utterance } from './utterance.ts';

const bytes = (samples: number) => new Uint8Array(samples * 2).fill(0x20);

test('an utterance runs from asking to complete', () => {
  const utterance = new Utterance('hello');
  utterance.handleSent(100);
  assert.equal(utterance.state, 'asking');
  utterance.handleStarted(24_000);
  utterance.handleAnswered(150);
  utterance.handleAudio(bytes(2400), 180);
  assert.equal(utterance.state, 'arriving');
  utterance.handleAudio(bytes(2400), 220);
  utterance.handleDone(0.1);
  assert.equal(utterance.state, 'complete');
  assert.deepEqual(utterance.marks, { sent: 100, firstByte: 150, firstChunk: 180, lastChunk: 220 });
  assert.deepEqual([utterance.take!.length, utterance.chunkCount, utterance.byteCount, utterance.serverRtf], [4800, 2, 9600, 0.1]);
});

test('audio that is cut inside a sample is put together', () => {
  const utterance = new Utterance('x');
  utterance.handleStarted(24_000);
  for (const length of [3, 1, 5, 1]) utterance.handleAudio(new Uint8Array(length).fill(0x20), 0);
  assert.deepEqual([...utterance.take!.slice(0, 9)], [0x2020, 0x2020, 0x2020, 0x2020, 0x2020]);
});

test('whatever comes after the end changes nothing', () => {
  for (const end of ['stop', 'fail', 'done'] as const) {
    const utterance = new Utterance('x');
    utterance.handleStarted(24_000);
    utterance.handleAudio(bytes(10), 1);
    if (end === 'stop') utterance.handleStopped();
    if (end === 'fail') utterance.handleFailed('why');
    if (end === 'done') utterance.handleDone(null);
    const { state } = utterance;
    utterance.handleAudio(bytes(10), 2);
    utterance.handleWords([{ text: 'x', start: 0, end: 1, source: null }]);
    utterance.handleFailed('later');
    utterance.handleDone(1);
    utterance.handleStopped();
    assert.equal(utterance.state, state);
    assert.deepEqual([utterance.take!.length, utterance.words.words.length, utterance.error], [10, 0, end === 'fail' ? 'why' : null]);
  }
});

test('an end without audio is a failure that says so', () => {
  const utterance = new Utterance('x');
  utterance.handleStarted(24_000);
  utterance.handleDone(null);
  assert.equal(utterance.state, 'failed');
  assert.match(utterance.error!, /without any audio/);
});

test('audio without a format, and a format that changes, are failures', () => {
  const early = new Utterance('x');
  early.handleAudio(bytes(1), 0);
  assert.match(early.error!, /before its format/);
  const changed = new Utterance('x');
  changed.handleStarted(24_000);
  changed.handleStarted(24_000);
  assert.equal(changed.state, 'asking');
  changed.handleStarted(48_000);
  assert.match(changed.error!, /24000 to 48000/);
});

test('more audio than the page holds ends the utterance in words', () => {
  const utterance = new Utterance('x');
  utterance.handleStarted(8_000);
  for (let i = 0; i <= MAX_SECONDS / 60; i++) utterance.handleAudio(bytes(60 * 8_000), i);
  assert.match(utterance.error!, /at most 20 minutes/);
  assert.equal(utterance.take!.seconds, MAX_SECONDS);
});
