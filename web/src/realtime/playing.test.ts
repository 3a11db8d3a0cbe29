import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeSpeaker, sound } from './fakes.ts';
import { Playing } from './playing.ts';

function setUp() {
  const speaker = new FakeSpeaker();
  const playing = new Playing(speaker);
  const pass = (ms: number) => {
    speaker.play(ms);
    playing.handleReport();
  };
  return { speaker, playing, pass };
}

test('an answer plays to its end and leaves nothing', () => {
  const { playing, pass } = setUp();
  playing.handleAudio('a', 0, sound(300));
  playing.handleAudioDone('a');
  pass(200);
  assert.equal(playing.heard(0)?.ms, 200);
  pass(200);
  assert.equal(playing.active, false);
  assert.deepEqual(playing.stalls, { count: 0, ms: 0 });
});

test('an interruption says how much was heard, falls silent, and late audio is dropped', () => {
  const { speaker, playing, pass } = setUp();
  playing.handleAudio('a', 0, sound(1_000));
  pass(333);
  assert.deepEqual(playing.interrupt(0), [{ itemId: 'a', contentIndex: 0, heardMs: 333 }]);
  assert.deepEqual([speaker.stopped, playing.active], [1, false]);
  playing.handleAudio('a', 0, sound(500));
  assert.equal(playing.active, false);
  playing.handleAudio('b', 0, sound(500));
  assert.equal(playing.heard(0)?.itemId, 'b');
});

test('items play one after another, and all that wait are cut', () => {
  const { playing, pass } = setUp();
  playing.handleAudio('a', 0, sound(100));
  playing.handleAudioDone('a');
  playing.handleAudio('b', 0, sound(400));
  assert.equal(playing.heard(0)?.itemId, 'a');
  pass(100);
  assert.equal(playing.heard(0)?.itemId, 'b');
  playing.handleAudio('c', 0, sound(400));
  pass(150);
  assert.deepEqual(playing.interrupt(0), [
    { itemId: 'b', contentIndex: 0, heardMs: 150 },
    { itemId: 'c', contentIndex: 0, heardMs: 0 },
  ]);
});

test('nothing is cut of what was heard to its end, nor where nothing plays', () => {
  const { speaker, playing } = setUp();
  assert.deepEqual(playing.interrupt(0), []);
  playing.handleAudio('a', 0, sound(100));
  playing.handleAudioDone('a');
  speaker.play(100);
  assert.deepEqual(playing.interrupt(0), []);
});

test('a stall raises the next prebuffer, and is counted', () => {
  const { speaker, playing, pass } = setUp();
  playing.handleAudio('a', 0, sound(100));
  pass(180);
  playing.handleAudio('a', 0, sound(100));
  playing.handleAudioDone('a');
  pass(100);
  assert.deepEqual(playing.stalls, { count: 1, ms: 80 });
  playing.handleAudio('b', 0, sound(100));
  assert.deepEqual(speaker.opened, [40, 160]);
});

test('samples that are cut between two events are whole again', () => {
  const { playing, pass } = setUp();
  const bytes = sound(10);
  playing.handleAudio('a', 0, bytes.subarray(0, 101));
  playing.handleAudio('a', 0, bytes.subarray(101));
  playing.handleResponseDone();
  pass(10);
  assert.equal(playing.active, false);
});

test('an item without audio waits for nobody', () => {
  const { playing } = setUp();
  playing.handleAudio('a', 0, new Uint8Array(0));
  playing.handleAudioDone('a');
  assert.equal(playing.active, false);
});
