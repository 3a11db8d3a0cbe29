import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProtocolError } from '../protocol.ts';
import { parseServerEvent } from './events.ts';

const parse = (event: object) => parseServerEvent(JSON.stringify(event));

test('a session says what it is, in the shape of the protocol', () => {
  const session = {
    id: 'sess_1',
    model: 'chat',
    audio: { input: { transcription: { model: 'ear' }, turn_detection: null }, output: { voice: 'alba', speed: 1 } },
  };
  const event = parse({ type: 'session.created', session });
  assert.ok(event.type === 'session.created');
  assert.deepEqual(event.session, { id: 'sess_1', model: 'chat', voice: 'alba', transcribes: true });
});

test('text of an answer is one event, however it is spoken', () => {
  const place = { response_id: 'r', item_id: 'i', output_index: 0, content_index: 0 };
  const expected = { type: 'response.text.delta', itemId: 'i', responseId: 'r', text: 'Good' };
  for (const type of ['response.output_audio_transcript.delta', 'response.output_text.delta']) {
    assert.deepEqual(parse({ type, ...place, delta: 'Good' }), expected);
  }
  assert.deepEqual(parse({ type: 'response.output_audio_transcript.done', ...place, transcript: 'Good.' }), {
    type: 'response.text.done',
    itemId: 'i',
    text: 'Good.',
  });
});

test('audio comes as its bytes', () => {
  const event = parse({ type: 'response.output_audio.delta', response_id: 'r', item_id: 'i', content_index: 0, delta: 'AQL/' });
  assert.ok(event.type === 'response.audio.delta');
  assert.deepEqual([...event.bytes], [1, 2, 255]);
});

test('the text of an item is its text or its transcript', () => {
  const item = (content: unknown) => {
    const event = parse({ type: 'conversation.item.added', previous_item_id: null, item: { id: 'i', type: 'message', role: 'user', content } });
    assert.ok(event.type === 'conversation.item.added');
    return event.item.text;
  };
  assert.equal(item([{ type: 'input_text', text: 'hello' }]), 'hello');
  assert.equal(item([{ type: 'input_audio', transcript: 'hello' }]), 'hello');
  assert.equal(item([{ type: 'input_audio', transcript: null }]), null);
  assert.equal(item(undefined), null);
});

test('the stages of a turn come by name, and in the order of time', () => {
  const timing = (stages: object) => parse({ type: 'promenade.turn.timing', response_id: 'r', item_id: 'i', speculative: true, stages });
  assert.deepEqual(timing({ speech_end: 0, committed: 200, transcript: 350.5, first_text: null, first_audio: 300, sent: 360 }), {
    type: 'turn.timing',
    responseId: 'r',
    stages: [{ name: 'committed', ms: 200 }, { name: 'first audio', ms: 300 }, { name: 'transcript', ms: 350.5 }, { name: 'sent', ms: 360 }],
  });
  const typed = timing({ speech_end: null, committed: 61_000, first_audio: 61_200 });
  assert.deepEqual(typed, { type: 'turn.timing', responseId: 'r', stages: [] }, 'without an end of speech there is nothing to count from');
});

test('an error keeps its words, its code and what it is about', () => {
  const error = { type: 'invalid_request_error', code: 'unknown_field', message: 'no field "x"', param: 'x', event_id: 'e1' };
  assert.deepEqual(parse({ type: 'error', error }), { type: 'error', message: 'no field "x"', code: 'unknown_field', eventId: 'e1' });
  assert.match(JSON.stringify(parse({ type: 'error' })), /without a message/);
});

test('what is not an event is refused with what it lacks, and what is new is let be', () => {
  for (const [frame, said] of [
    ['nonsense', /not JSON/],
    ['[]', /not a JSON object/],
    ['{}', /without "type"/],
    ['{"type":"input_audio_buffer.speech_started"}', /speech_started without "item_id"/],
    ['{"type":"response.output_audio.delta","item_id":"i","delta":"%%"}', /not base64/],
    ['{"type":"response.created"}', /response is not a JSON object/],
  ] as const) {
    assert.throws(() => parseServerEvent(frame), (error) => error instanceof ProtocolError && said.test(error.message), frame);
  }
  assert.deepEqual(parse({ type: 'rate_limits.updated' }), { type: 'other', name: 'rate_limits.updated' });
});
