import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULTS, parseSettings, sessionOf, type TalkSettings } from './settings.ts';

test('settings survive being kept, and nonsense becomes the default', () => {
  const chosen: TalkSettings = { ...DEFAULTS, link: 'webrtc', turns: 'push', speed: 1.25, idleMs: 6_000, interrupts: false, clean: false, voice: 'alba' };
  assert.deepEqual(parseSettings(JSON.stringify(chosen)), chosen);
  for (const kept of [null, '', '[]', '{"speed":"fast","turns":"never","idleMs":-3,"instructions":7}']) {
    assert.deepEqual(parseSettings(kept), DEFAULTS, String(kept));
  }
  const out = parseSettings('{"speed":9,"threshold":-1,"silenceMs":99999,"idleMs":100}');
  assert.deepEqual([out.speed, out.threshold, out.silenceMs, out.idleMs], [1.5, 0, 3_000, 5_000]);
});

test('each way to end a turn is told as the protocol has it', () => {
  const detection = (settings: Partial<TalkSettings>) => {
    const session = sessionOf({ ...DEFAULTS, ...settings }, { voiceFrozen: false });
    return (session['audio'] as { input: { turn_detection: unknown } }).input.turn_detection;
  };
  assert.equal(detection({ turns: 'push' }), null);
  assert.deepEqual(detection({ turns: 'semantic_vad', eagerness: 'high' }), {
    type: 'semantic_vad',
    eagerness: 'high',
    create_response: true,
    interrupt_response: true,
  });
  assert.deepEqual(detection({ interrupts: false, idleMs: 6_000 }), {
    type: 'server_vad',
    threshold: 0.5,
    prefix_padding_ms: 300,
    silence_duration_ms: 500,
    idle_timeout_ms: 6_000,
    create_response: true,
    interrupt_response: false,
  });
});

test('what is not chosen is left to the server, and so is a voice that has spoken', () => {
  assert.deepEqual(Object.keys(sessionOf(DEFAULTS, { voiceFrozen: false })), ['type', 'audio']);
  const output = (voiceFrozen: boolean) => {
    const session = sessionOf({ ...DEFAULTS, voice: 'alba', instructions: 'Be brief.' }, { voiceFrozen });
    assert.equal(session['instructions'], 'Be brief.');
    return (session['audio'] as { output: object }).output;
  };
  assert.deepEqual(output(false), { speed: 1, voice: 'alba' });
  assert.deepEqual(output(true), { speed: 1 });
});

test('what the user says is asked to be written down', () => {
  const { audio } = sessionOf(DEFAULTS, { voiceFrozen: false }) as { audio: { input: { transcription: unknown } } };
  assert.deepEqual(audio.input.transcription, { model: 'whisper-1' });
});
