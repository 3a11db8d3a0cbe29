import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultFromRefusal } from './link.ts';

const refusal = (status: number, code: string | null, message: string, retryAfter: string | null = null) => ({
  status,
  body: { error: { code, message } },
  retryAfter,
});

test('a door that is not there is told from a model that is not', () => {
  const none = faultFromRefusal('webrtc', refusal(404, 'unknown_path', 'There is nothing at this path.'));
  assert.match(none.message, /no conversations over WebRTC\. Choose WebSocket/);
  assert.match(faultFromRefusal('ws', { status: 404, body: null, retryAfter: null }).message, /over WebSocket/);
  assert.match(faultFromRefusal('webrtc', { status: 405, body: null, retryAfter: null }).message, /over WebRTC/);
  const model = faultFromRefusal('ws', refusal(404, 'model_not_found', 'The model "x" does not converse here.'));
  assert.equal(model.message, 'The model "x" does not converse here.');
  assert.deepEqual([none.retry, model.retry], ['no', 'no']);
});

test('what passes is tried again, and when is said', () => {
  const full = faultFromRefusal('ws', refusal(503, 'overloaded', 'All places are taken.', '2'));
  assert.deepEqual(full, { message: 'The server is full right now. All places are taken. Try again in 2 s.', retry: 'soon' });
  assert.equal(faultFromRefusal('ws', refusal(500, 'internal_error', 'Oh.')).retry, 'soon');
  assert.deepEqual(faultFromRefusal('ws', refusal(401, 'invalid_api_key', 'No.')), { message: 'The key is missing or wrong. No.', retry: 'no' });
  assert.equal(faultFromRefusal('ws', { status: 418, body: null, retryAfter: null }).message, 'The server answered with status 418.');
});
