import assert from 'node:assert/strict';
import { test } from 'node:test';
import { base64FromBytes } from '../audio/base64.ts';
import { FakeSpeaker, sound } from './fakes.ts';
import type { LinkEvents, LinkOptions } from './link.ts';
import { DEFAULTS, type LinkKind, type TalkSettings } from './settings.ts';
import { Talk } from './talk.ts';

const FRAME = new Int16Array(480);

class FakeLink {
  readonly kind: LinkKind;
  readonly carriesAudio: boolean;
  waiting = 0;
  closed = false;
  readonly sent: Record<string, unknown>[] = [];
  readonly options: LinkOptions;
  readonly events: LinkEvents;

  constructor(kind: LinkKind, options: LinkOptions, events: LinkEvents) {
    this.kind = kind;
    this.carriesAudio = kind === 'webrtc';
    this.options = options;
    this.events = events;
  }

  send(frame: string): void {
    this.sent.push(JSON.parse(frame) as Record<string, unknown>);
  }

  close(): void {
    this.closed = true;
  }

  tell(type: string, fields: object = {}): void {
    this.events.message(JSON.stringify({ type, ...fields }));
  }

  begin(): void {
    this.events.opened();
    this.tell('session.created', { session: { id: 's', model: 'chat', audio: { output: { voice: 'alba' } } } });
  }

  types(): unknown[] {
    return this.sent.map(({ type }) => type);
  }

  /** Forgets what was sent. */
  clear(): void {
    this.sent.length = 0;
  }
}

function setUp(settings: Partial<TalkSettings> = {}) {
  const links: FakeLink[] = [];
  const timers: { ms: number; act: () => void }[] = [];
  const speaker = new FakeSpeaker();
  const clock = { ms: 0 };
  const open = (kind: LinkKind) => (options: LinkOptions, events: LinkEvents) => {
    links.push(new FakeLink(kind, options, events));
    return links.at(-1)!;
  };
  const talk = new Talk({
    open: { ws: open('ws'), webrtc: open('webrtc') },
    speaker,
    voice: () => undefined,
    now: () => clock.ms,
    random: () => 1,
    after: (ms, act) => {
      const timer = { ms, act };
      timers.push(timer);
      return () => void timers.splice(timers.indexOf(timer), 1);
    },
    changed: () => undefined,
  });
  talk.start({ model: 'chat', key: null, settings: { ...DEFAULTS, ...settings }, microphone: null });
  const fire = () => {
    const timer = timers.shift();
    assert.ok(timer !== undefined, 'a timer is set');
    clock.ms += timer.ms;
    timer.act();
    return timer.ms;
  };
  return { talk, links, link: links[0]!, speaker, clock, timers, fire };
}

/** An answer of `ms` of audio, all of it here. */
function answer(link: FakeLink, ms: number, id = 'a'): void {
  const place = { response_id: 'r', item_id: id, output_index: 0, content_index: 0 };
  link.tell('response.created', { response: { id: 'r', status: 'in_progress' } });
  link.tell('conversation.item.added', { item: { id, type: 'message', role: 'assistant', content: [] }, previous_item_id: null });
  link.tell('response.output_audio_transcript.delta', { ...place, delta: 'One two three four five six seven eight.' });
  link.tell('response.output_audio.delta', { ...place, delta: base64FromBytes(sound(ms)) });
}

test('a session is configured as it begins, and then listens', () => {
  const { talk, link } = setUp({ voice: 'alba' });
  assert.equal(talk.state, 'opening');
  talk.handleMicrophone(FRAME, 0);
  link.begin();
  assert.equal(talk.state, 'talking');
  assert.deepEqual(link.types(), ['session.update'], 'no audio goes out before the session is there');
  talk.handleMicrophone(FRAME, 0);
  assert.deepEqual(link.types(), ['session.update', 'input_audio_buffer.append']);
});

test('who has the floor follows the events', () => {
  const { talk, link, speaker } = setUp();
  link.begin();
  const floors = [talk.floor];
  link.tell('input_audio_buffer.speech_started', { item_id: 'u', audio_start_ms: 0 });
  floors.push(talk.floor);
  link.tell('input_audio_buffer.speech_stopped', { item_id: 'u', audio_end_ms: 900 });
  floors.push(talk.floor);
  answer(link, 300);
  floors.push(talk.floor);
  link.tell('response.output_audio.done', { item_id: 'a', response_id: 'r' });
  link.tell('response.done', { response: { id: 'r', status: 'completed' } });
  floors.push(talk.floor);
  speaker.play(400);
  talk.handlePlayout();
  floors.push(talk.floor);
  assert.deepEqual(floors, ['nobody', 'user', 'thinking', 'assistant', 'assistant', 'nobody']);
});

test('speaking over an answer silences it first, then says where it was cut', () => {
  const { talk, link, speaker, clock } = setUp();
  link.begin();
  link.tell('input_audio_buffer.speech_stopped', { item_id: 'u', audio_end_ms: 900 });
  answer(link, 4_000);
  speaker.play(1_000);
  link.clear();
  clock.ms = 5_000;
  talk.handleMicrophone(FRAME, 0.2);
  clock.ms = 5_120;
  link.clear();
  link.tell('input_audio_buffer.speech_started', { item_id: 'v', audio_start_ms: 2_000 });
  assert.equal(speaker.stopped, 1);
  assert.deepEqual(link.sent, [{ type: 'conversation.item.truncate', event_id: 'quiet', item_id: 'a', content_index: 0, audio_end_ms: 1_000 }]);
  assert.equal(talk.conversation.find('a')!.state, 'cut');
  assert.equal(talk.turns.last!.silencedMs, 120);
  link.tell('conversation.item.truncated', { item_id: 'a', content_index: 0, audio_end_ms: 1_000 });
  assert.equal(link.types().at(-1), 'conversation.item.retrieve');
});

test('with interruptions off, speech leaves the answer alone', () => {
  const { link, speaker } = setUp({ interrupts: false });
  link.begin();
  answer(link, 4_000);
  link.tell('input_audio_buffer.speech_started', { item_id: 'v', audio_start_ms: 0 });
  assert.equal(speaker.stopped, 0);
});

test('the button to stop cancels, and truncates what was not heard', () => {
  const { talk, link, speaker } = setUp();
  link.begin();
  answer(link, 4_000);
  speaker.play(500);
  link.clear();
  talk.interrupt();
  assert.deepEqual(link.types(), ['response.cancel', 'conversation.item.truncate']);
  link.tell('error', { error: { message: 'nothing to cancel', event_id: 'quiet' } });
  assert.equal(talk.notice, null, 'a race with the answer’s own end is no news');
});

test('where the link carries the audio, the server is told to drop it', () => {
  const { talk, link } = setUp({ link: 'webrtc' });
  link.begin();
  link.tell('response.created', { response: { id: 'r', status: 'in_progress' } });
  link.tell('output_audio_buffer.started', { response_id: 'r' });
  assert.equal(talk.floor, 'assistant');
  link.clear();
  talk.handleMicrophone(FRAME, 0.1);
  talk.interrupt();
  assert.deepEqual(link.types(), ['response.cancel', 'output_audio_buffer.clear']);
  assert.equal(talk.answering, true, 'until the server says that it has ended');
  link.tell('response.done', { response: { id: 'r', status: 'cancelled' } });
  assert.equal(talk.answering, false);
});

test('push to talk sends what is said while the button is held, and a little more', () => {
  const { talk, link, clock, fire } = setUp({ turns: 'push' });
  link.begin();
  link.clear();
  talk.handleMicrophone(FRAME, 0.1);
  assert.deepEqual(link.types(), []);
  talk.press();
  talk.handleMicrophone(FRAME, 0.1);
  clock.ms += 800;
  talk.release();
  talk.handleMicrophone(FRAME, 0.1);
  fire();
  talk.handleMicrophone(FRAME, 0.1);
  const append = 'input_audio_buffer.append';
  assert.deepEqual(link.types(), ['input_audio_buffer.clear', append, append, 'input_audio_buffer.commit', 'response.create']);
  assert.deepEqual([talk.floor, talk.turns.last!.by], ['thinking', 'button']);
});

test('a button that was only touched sends nothing', () => {
  const { talk, link, clock, timers } = setUp({ turns: 'push' });
  link.begin();
  talk.press();
  clock.ms += 50;
  talk.release();
  assert.equal(link.types().includes('input_audio_buffer.commit'), false);
  assert.equal(timers.length, 0);
  assert.match(talk.notice ?? '', /Hold the button/);
});

test('what is typed is said in the user’s name', () => {
  const { talk, link } = setUp();
  talk.sendText('too early');
  link.begin();
  link.clear();
  talk.sendText('  ');
  talk.sendText(' Hello ');
  assert.deepEqual(link.sent, [
    { type: 'conversation.item.create', item: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] } },
    { type: 'response.create' },
  ]);
});

test('a lost connection is tried again, later each time, and goes on where it was', () => {
  const { talk, links, link, fire, speaker } = setUp();
  link.begin();
  link.tell('conversation.item.added', { item: { id: 'u', type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] } });
  answer(link, 1_000);
  speaker.play(500);
  link.events.failed({ message: 'lost', retry: 'soon' });
  assert.deepEqual([talk.state, talk.notice, speaker.stopped], ['waiting', 'lost', 1]);
  assert.equal(fire(), 500);
  links[1]!.events.failed({ message: 'still away', retry: 'soon' });
  assert.equal(fire(), 1_000);
  links[2]!.begin();
  assert.deepEqual([talk.state, talk.notice], ['talking', null]);
  const told = links[2]!.sent.flatMap(({ item }) => (item as { role: string; content: { text: string }[] }) ?? []);
  assert.deepEqual(told.map(({ role, content }) => [role, content[0]!.text]), [
    ['user', 'Hi'],
    ['assistant', 'One two'],
  ]);
  link.events.message('{"type":"error","error":{"message":"from the past"}}');
  assert.equal(talk.notice, null, 'a link that was replaced has nothing to say');
});

test('a fault that will stay is not tried again', () => {
  const { talk, link, timers } = setUp();
  link.events.failed({ message: 'The key is wrong.', retry: 'no' });
  assert.deepEqual([talk.state, talk.notice, timers.length], ['idle', 'The key is wrong.', 0]);
});

test('hanging up leaves no link and no timer', () => {
  const { talk, link, timers } = setUp();
  link.begin();
  link.events.failed({ message: 'lost', retry: 'soon' });
  talk.stop();
  assert.deepEqual([talk.state, timers.length, link.closed], ['idle', 0, true]);
});

test('a network that does not keep up costs frames, not memory', () => {
  const { talk, link } = setUp();
  link.begin();
  link.waiting = 10_000_000;
  for (let i = 0; i < 5; i++) talk.handleMicrophone(FRAME, 0.1);
  assert.deepEqual([talk.droppedMs, link.types()], [100, ['session.update']]);
});

test('an event that is none is said and survived', () => {
  const { talk, link } = setUp();
  link.begin();
  link.events.message('{"type":');
  assert.match(talk.notice ?? '', /something unexpected/);
  assert.equal(talk.state, 'talking');
});

test('a refusal before the session begins is said in the server’s words', () => {
  const { talk, link } = setUp();
  link.tell('error', { error: { code: 'session_limit_reached', message: 'All 4 places are taken.' } });
  assert.deepEqual([talk.state, talk.notice], ['waiting', 'All 4 places are taken.']);
});
