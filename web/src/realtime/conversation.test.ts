import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Conversation } from './conversation.ts';
import type { Item, ServerEvent } from './events.ts';

const ANSWER = 'One two three four five six seven eight nine ten.';

function message(id: string, role: 'user' | 'assistant', text: string | null): Item {
  return { id, kind: 'message', role, text };
}

/** 100 ms of audio at 24 kHz. */
const audio = (itemId: string): ServerEvent => {
  return { type: 'response.audio.delta', itemId, responseId: 'r', contentIndex: 0, bytes: new Uint8Array(4_800) };
};

function play(...events: ServerEvent[]): Conversation {
  const conversation = new Conversation();
  for (const event of events) conversation.handle(event);
  return conversation;
}

const SPOKEN: ServerEvent[] = [
  { type: 'input_audio_buffer.speech_started', itemId: 'u', audioStartMs: 0 },
  { type: 'input_audio_buffer.speech_stopped', itemId: 'u', audioEndMs: 900 },
  { type: 'input_audio_buffer.committed', itemId: 'u', previousItemId: null },
  { type: 'conversation.item.added', item: message('u', 'user', null), previousItemId: null },
  { type: 'transcription.delta', itemId: 'u', text: 'Count ' },
];

const ANSWERED: ServerEvent[] = [
  { type: 'response.created', response: { id: 'r', status: 'in_progress', reason: null, error: null } },
  { type: 'conversation.item.added', item: message('a', 'assistant', null), previousItemId: 'u' },
  { type: 'response.text.delta', itemId: 'a', responseId: 'r', text: ANSWER },
  ...Array.from({ length: 50 }, () => audio('a')),
  { type: 'response.audio.done', itemId: 'a' },
];

const shown = ({ entries }: Conversation) => entries.map(({ who, state, text }) => [who, state, text]);

test('speech becomes words as they are written down', () => {
  const conversation = play(SPOKEN[0]!);
  assert.deepEqual(shown(conversation), [['user', 'speaking', '']]);
  for (const event of SPOKEN.slice(1)) conversation.handle(event);
  assert.deepEqual(shown(conversation), [['user', 'writing', 'Count ']]);
  conversation.handle({ type: 'transcription.completed', itemId: 'u', text: ' Count to ten. ' });
  assert.deepEqual(shown(conversation), [['user', 'said', 'Count to ten.']]);
});

test('words that come after the answer has begun still stand before it', () => {
  const conversation = play(...SPOKEN, ...ANSWERED, { type: 'transcription.completed', itemId: 'u', text: 'Count to ten.' });
  assert.deepEqual(shown(conversation), [
    ['user', 'said', 'Count to ten.'],
    ['assistant', 'answering', ANSWER],
  ]);
});

test('an item takes the place that the server gives it', () => {
  const conversation = play(
    ...ANSWERED.map((event) => ('previousItemId' in event ? { ...event, previousItemId: null } : event)),
    { type: 'conversation.item.added', item: message('b', 'user', 'second'), previousItemId: 'a' },
    { type: 'conversation.item.added', item: message('c', 'user', 'first'), previousItemId: 'a' },
  );
  assert.deepEqual(conversation.entries.map(({ id }) => id), ['a', 'c', 'b']);
});

test('a cut keeps the words that were heard, and the server has the last word on it', () => {
  const conversation = play(...SPOKEN, ...ANSWERED);
  conversation.cut('a', 2_500);
  const entry = conversation.find('a')!;
  assert.equal(entry.text.slice(0, entry.kept!), 'One two three four five six');
  conversation.handle({ type: 'conversation.item.truncated', itemId: 'a', audioEndMs: 2_500 });
  conversation.handle({ type: 'conversation.item.retrieved', item: message('a', 'assistant', 'One two three four ') });
  assert.equal(entry.text.slice(0, entry.kept!), 'One two three four');
  assert.deepEqual([entry.state, entry.cutMs, entry.text], ['cut', 2_500, ANSWER]);
  // A cancelled response ends after the cut, and changes nothing of it.
  conversation.handle({ type: 'response.done', response: { id: 'r', status: 'cancelled', reason: 'turn_detected', error: null } });
  assert.equal(entry.state, 'cut');
});

test('what the server kept is believed only if it is the beginning of what was said', () => {
  const conversation = play(...SPOKEN, ...ANSWERED);
  conversation.cut('a', 2_500);
  const before = conversation.find('a')!.kept;
  conversation.handle({ type: 'conversation.item.retrieved', item: message('a', 'assistant', 'Something else') });
  assert.equal(conversation.find('a')!.kept, before);
});

test('speech that comes to nothing leaves nothing', () => {
  const conversation = play(SPOKEN[0]!, { type: 'input_audio_buffer.speech_started', itemId: 'v', audioStartMs: 10 });
  assert.deepEqual(conversation.entries.map(({ id }) => id), ['v']);
});

test('only what was heard is told to a new session', () => {
  const conversation = play(...SPOKEN, { type: 'transcription.completed', itemId: 'u', text: 'Count.' }, ...ANSWERED);
  conversation.cut('a', 2_500);
  assert.deepEqual(conversation.past(10), [
    { role: 'user', text: 'Count.' },
    { role: 'assistant', text: 'One two three four five six' },
  ]);
  assert.equal(conversation.past(1).length, 1);
});

test('a lost session leaves what was said, and nothing that waits', () => {
  const conversation = play(...SPOKEN, ...ANSWERED, { type: 'input_audio_buffer.speech_started', itemId: 'v', audioStartMs: 10 });
  conversation.handleLost();
  assert.deepEqual(shown(conversation), [
    ['user', 'unclear', 'Count '],
    ['assistant', 'failed', ANSWER],
  ]);
});

test('a conversation without end is bounded', () => {
  const conversation = new Conversation();
  for (let i = 0; i < 1_000; i++) {
    conversation.handle({ type: 'conversation.item.added', item: message(`i${i}`, 'user', `${i}`), previousItemId: null });
  }
  assert.equal(conversation.entries.length, 400);
  assert.equal(conversation.entries.at(-1)!.text, '999');
});
