import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServerEvent } from './events.ts';
import { responseMs, responseQuantile, timeline, Turns } from './turns.ts';

const STOPPED: ServerEvent = { type: 'input_audio_buffer.speech_stopped', itemId: 'u', audioEndMs: 0 };
const CREATED: ServerEvent = { type: 'response.created', response: { id: 'r', status: 'in_progress', reason: null, error: null } };
const TEXT: ServerEvent = { type: 'response.text.delta', itemId: 'a', responseId: 'r', text: 'x' };
const AUDIO: ServerEvent = { type: 'response.audio.delta', itemId: 'a', responseId: 'r', contentIndex: 0, bytes: new Uint8Array(2) };

function answered(turns: Turns, startMs: number, heardMs: number): void {
  turns.handle(STOPPED, startMs + 200, startMs);
  turns.handle(CREATED, startMs + 210, startMs);
  turns.handleHeard(heardMs);
}

test('a turn counts from the last loud sound, and each stage from the first time', () => {
  const turns = new Turns();
  turns.handle(STOPPED, 1_300, 1_000);
  turns.handle(CREATED, 1_310, 1_000);
  turns.handle(TEXT, 1_450, null);
  turns.handle(TEXT, 1_500, null);
  turns.handle(AUDIO, 1_600, null);
  turns.handleHeard(1_680);
  turns.handleHeard(9_000);
  const { last } = turns;
  assert.equal(responseMs(last!), 680);
  assert.deepEqual(timeline(last!), [
    { mark: 'stopped', ms: 300 },
    { mark: 'created', ms: 310 },
    { mark: 'text', ms: 450 },
    { mark: 'audio', ms: 600 },
    { mark: 'heard', ms: 680 },
  ]);
});

test('speech that goes on before an answer is one turn', () => {
  const turns = new Turns();
  turns.handle(STOPPED, 1_300, 1_000);
  turns.handle(STOPPED, 3_300, 3_000);
  assert.equal(turns.all.length, 1);
  assert.equal(turns.last!.startMs, 3_000);
  turns.handle(CREATED, 3_310, null);
  turns.handleSent('text', 5_000);
  assert.deepEqual(turns.all.map(({ by }) => by), ['speech', 'text']);
});

test('a clock that says the future is not believed', () => {
  const turns = new Turns();
  turns.handle(STOPPED, 1_000, 1_400);
  assert.equal(turns.last!.startMs, 1_000);
});

test('quantiles leave out what was not heard', () => {
  const turns = new Turns();
  assert.equal(responseQuantile(turns.all, 0.5), null);
  [300, 900, 500].forEach((ms, i) => answered(turns, i * 10_000, i * 10_000 + ms));
  turns.handleSent('text', 90_000);
  assert.equal(responseQuantile(turns.all, 0.5), 500);
  assert.equal(responseQuantile(turns.all, 1), 900);
});

test('an interruption is timed once, and events before any turn do nothing', () => {
  const turns = new Turns();
  turns.handle(TEXT, 10, null);
  turns.handleHeard(20);
  turns.handleSilenced(80);
  assert.equal(turns.all.length, 0);
  answered(turns, 0, 400);
  turns.handleSilenced(80);
  turns.handleSilenced(900);
  assert.equal(turns.last!.silencedMs, 80);
});
