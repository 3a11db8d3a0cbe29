import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientMessage, errorCode, errorMessage, parseModels, parseServerMessage, parseTalkModels, parseVoices, ProtocolError, speechBody } from './protocol.ts';

const OPTIONS = { model: 'toy', voice: 'sine', speed: 1.5 };

test('what the page sends is what the protocol page says', () => {
  assert.deepEqual(JSON.parse(speechBody(OPTIONS, 'a "b"')), {
    ...OPTIONS,
    input: 'a "b"',
    response_format: 'pcm',
    stream_format: 'audio',
  });
  assert.deepEqual(JSON.parse(clientMessage.config(OPTIONS)), { type: 'session.config', ...OPTIONS, response_format: 'pcm' });
  assert.deepEqual(JSON.parse(clientMessage.text('x')), { type: 'input.text', text: 'x' });
  assert.deepEqual(JSON.parse(clientMessage.done()), { type: 'input.done' });
});

test('messages of the server are read into what they mean', () => {
  const cases: [object, object][] = [
    [{ type: 'audio.start', format: 'pcm', sample_rate: 22050 }, { type: 'audio.start', rate: 22050 }],
    [{ type: 'audio.start' }, { type: 'audio.start', rate: 24000 }],
    [{ type: 'audio.done', total_bytes: 4 }, { type: 'audio.done' }],
    [{ type: 'session.done', rtf: 0.2 }, { type: 'session.done', serverRtf: 0.2 }],
    [{ type: 'session.done' }, { type: 'session.done', serverRtf: null }],
    [{ type: 'error', error: { message: 'too long' } }, { type: 'error', message: 'too long' }],
    [{ type: 'error', message: 'too long' }, { type: 'error', message: 'too long' }],
    [{ type: 'input.skipped', code: 'nothing_to_say', message: 'Nothing.' }, { type: 'input.skipped', message: 'Nothing.' }],
    [{ type: 'session.configured' }, { type: 'other', name: 'session.configured' }],
  ];
  for (const [message, expected] of cases) assert.deepEqual(parseServerMessage(JSON.stringify(message)), expected);
});

test('messages that are not what they should be are named', () => {
  const cases: [string, RegExp][] = [
    ['{', /not JSON/],
    ['[]', /not a JSON object/],
    ['{}', /without a "type"/],
    ['{"type":"audio.start","format":"mp3"}', /"mp3"/],
    ['{"type":"audio.start","sample_rate":1}', /1 samples per second/],
    ['{"type":"audio.start","sample_rate":"24000"}', /24000/],
    ['{"type":"audio.words"}', /"words" is not a list/],
    ['{"type":"audio.words","words":[{"text":"x"}]}', /needs "text", "start"/],
  ];
  for (const [frame, message] of cases) {
    assert.throws(() => parseServerMessage(frame), (error) => error instanceof ProtocolError && message.test(error.message), frame);
  }
});

test('lists of models and voices are read', () => {
  assert.deepEqual(parseModels({ data: [{ id: 'toy' }, { id: 'joe', task: 'speech' }, { id: 'toy' }, { id: 'lm', task: 'chat' }] }), ['toy', 'joe']);
  assert.deepEqual(parseVoices({ voices: ['a', { id: 'b', model: 'toy' }, { name: 'c' }] }), [
    { id: 'a', model: null },
    { id: 'b', model: 'toy' },
    { id: 'c', model: null },
  ]);
  for (const body of [null, [], {}, { data: 3 }, { data: [{}] }]) assert.throws(() => parseModels(body), ProtocolError);
});

test('one can talk to the models for chat, where there is a door for it', () => {
  const chat = { id: 'lm', task: 'chat', endpoints: ['/v1/chat/completions'] };
  const ear = { id: 'ear', task: 'transcription', endpoints: ['/v1/audio/transcriptions', '/v1/realtime'] };
  assert.deepEqual(parseTalkModels({ data: [{ id: 'toy', task: 'speech' }, chat, ear] }), ['lm']);
  assert.deepEqual(parseTalkModels({ data: [chat] }), []);
  assert.deepEqual(parseTalkModels({ data: [ear] }), []);
});

test('an error body gives its code where it has one', () => {
  assert.equal(errorCode({ error: { code: 'x' } }), 'x');
  for (const body of [null, 'x', {}, { error: 'x' }, { error: { code: null } }]) assert.equal(errorCode(body), null);
});

test('an error body gives its message, and anything else gives none', () => {
  assert.equal(errorMessage({ error: { message: 'no such voice', code: 'x' } }), 'no such voice');
  assert.equal(errorMessage({ error: 'busy' }), 'busy');
  for (const body of [null, 'x', [], {}, { error: {} }, { error: { message: ' ' } }]) assert.equal(errorMessage(body), null);
});
