// A server whose conversations follow a script: it hears by loudness and answers with a tone, in
// the events of server/docs/protocol.md. Everything else is passed on to the real server, so that
// the page and what it asks beside conversations are the real ones.

import { createServer } from 'node:http';
import { WebSocketServer } from 'ws';
import { pause } from './harness.mjs';
import { serveOrPass } from './page-files.mjs';

export const RATE = 24_000;
export const MODEL = 'stage-chat';
export const HEARD = 'What is a promenade?';
export const ANSWER = 'A promenade is a walk that you take for its own sake, and nobody hurries, since the way is the point of it.';

/** Above this, the microphone hears somebody. */
const LOUD = 0.02;
const SILENCE_MS = 300;

export class Stage {
  /** Conversations so far, oldest first. */
  sessions = [];
  /** What is wanted of callers; null is nothing. */
  key = null;
  /** How a new conversation is refused: a status for the door, or an error event. */
  refuse = null;
  /** The answer's audio: seconds, milliseconds of it in one event, and its pace (1 is real time). */
  answer = { seconds: 6, chunkMs: 100, pace: 4, gapMs: 0 };
  /** Whether it has a door for calls. */
  calls = true;
  /** Calls that were hung up. */
  hungUp = [];
  /** Who answers calls; a `StagePeer`. */
  peer = null;

  static async start(server) {
    const stage = new Stage();
    stage.server = server;
    stage.http = createServer((asked, answer) => stage.#serve(asked, answer));
    stage.sockets = new WebSocketServer({
      noServer: true,
      handleProtocols: (protocols) => (protocols.has('realtime') ? 'realtime' : false),
    });
    stage.http.on('upgrade', (asked, socket, head) => stage.#upgrade(asked, socket, head));
    await new Promise((done) => stage.http.listen(0, '127.0.0.1', done));
    stage.port = stage.http.address().port;
    stage.origin = `http://127.0.0.1:${stage.port}`;
    return stage;
  }

  get last() {
    return this.sessions.at(-1);
  }

  get open() {
    return this.sessions.filter(({ closed }) => !closed);
  }

  /** Cuts all conversations as a crash would. */
  drop() {
    for (const { socket } of this.open) socket.terminate();
  }

  async close() {
    this.drop();
    this.http.closeAllConnections();
    await new Promise((done) => this.http.close(done));
  }

  #serve(asked, answer) {
    const { pathname } = new URL(asked.url, this.origin);
    const json = (status, body) => {
      answer.writeHead(status, { 'content-type': 'application/json' });
      answer.end(JSON.stringify(body));
    };
    if (pathname.startsWith('/v1/') && !this.#knows(asked)) {
      json(401, { error: { message: 'The key is not one of this server’s.', code: 'invalid_api_key' } });
    } else if (pathname === '/v1/models') this.#models().then((body) => json(200, body));
    else if (pathname === `/v1/models/${MODEL}/graph`) json(200, GRAPH);
    else if (pathname === '/v1/realtime/calls' && !this.calls) {
      json(404, { error: { message: 'There is nothing at this path.', code: 'unknown_path' } });
    } else if (pathname === '/v1/realtime/calls' && asked.method === 'POST') this.#call(asked, answer);
    else if (pathname.startsWith('/v1/realtime/calls/')) {
      this.hungUp.push(pathname);
      json(200, {});
    } else serveOrPass(asked, answer, this.server.port);
  }

  #knows(asked) {
    if (this.key === null) return true;
    const protocols = asked.headers['sec-websocket-protocol'] ?? '';
    return asked.headers.authorization === `Bearer ${this.key}` || protocols.includes(`openai-insecure-api-key.${this.key}`);
  }

  async #models() {
    const real = await (await fetch(`${this.server.origin}/v1/models`)).json();
    const model = { id: MODEL, object: 'model', task: 'chat', endpoints: ['/v1/realtime'] };
    return { ...real, data: [...real.data.filter(({ task }) => task === 'speech'), model] };
  }

  #upgrade(asked, socket, head) {
    if (!this.#knows(asked) || typeof this.refuse === 'number') {
      socket.end(`HTTP/1.1 ${this.#knows(asked) ? this.refuse : 401} Refused\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    this.sockets.handleUpgrade(asked, socket, head, (opened) => {
      const session = new Session(this, opened);
      this.sessions.push(session);
      if (this.refuse === null) session.begin();
      else {
        session.tell('error', { error: { type: 'server_error', param: null, ...this.refuse } });
        opened.close(1013);
      }
    });
  }

  /** A second page of the browser is the server's peer; see `StagePeer`. */
  async #call(asked, answer) {
    const parts = [];
    for await (const part of asked) parts.push(part);
    const body = Buffer.concat(parts).toString();
    const sdp = /name="sdp"[\s\S]*?\r\n\r\n([\s\S]*?)\r\n--/.exec(body)?.[1] ?? '';
    if (this.refuse !== null || this.peer === null) {
      answer.writeHead(503, { 'content-type': 'application/json', 'retry-after': '2' });
      answer.end(JSON.stringify({ error: { message: 'All places are taken.' } }));
      return;
    }
    const said = await this.peer.answer(`${sdp.trimEnd()}\r\n`, (socket) => {
      const session = new Session(this, socket);
      this.sessions.push(session);
      return session;
    });
    answer.writeHead(201, { 'content-type': 'application/sdp', location: '/v1/realtime/calls/rtc_1' });
    answer.end(said);
  }
}

/** One conversation: what the page said in it, and what it is told. */
export class Session {
  /** Events of the page without audio. */
  heard = [];
  /** Samples of the microphone. */
  samples = 0;
  heardMs = 0;
  /** When the page sent what, by type, in milliseconds of this process. */
  at = {};
  closed = false;
  turnDetection = {};
  /** Nothing is written down unless it is asked for. */
  transcription = null;
  #speech = null;
  #quietMs = 0;
  #number = 0;
  #response = null;
  #items = new Map();

  constructor(stage, socket) {
    this.stage = stage;
    this.socket = socket;
    socket.on('message', (data) => this.#handle(JSON.parse(String(data))));
    socket.on('close', () => {
      this.closed = true;
      this.#response = null;
    });
  }

  of(type) {
    return this.heard.filter((event) => event.type === type);
  }

  tell(type, fields = {}) {
    if (!this.closed) this.socket.send(JSON.stringify({ type, event_id: `event_${++this.#number}`, ...fields }));
  }

  begin() {
    this.tell('session.created', { session: this.#session() });
  }

  #session() {
    const { transcription, turnDetection: turn_detection } = this;
    return {
      type: 'realtime', id: 'sess_1', object: 'realtime.session', model: MODEL, output_modalities: ['audio'],
      audio: { input: { turn_detection, transcription }, output: { voice: 'tone', speed: 1 } },
    };
  }

  #handle(event) {
    this.at[event.type] = performance.now();
    if (event.type === 'input_audio_buffer.append') {
      const samples = new Int16Array(new Uint8Array(Buffer.from(event.audio, 'base64')).buffer);
      this.samples += samples.length;
      this.listen(Math.sqrt(samples.reduce((sum, x) => sum + (x / 32768) ** 2, 0) / samples.length), (samples.length * 1000) / RATE);
      return;
    }
    this.heard.push(event);
    switch (event.type) {
      case 'session.update':
        this.turnDetection = event.session.audio?.input?.turn_detection;
        this.transcription = event.session.audio?.input?.transcription ?? null;
        this.tell('session.updated', { session: this.#session() });
        break;
      case 'conversation.item.create': {
        const id = `item_${++this.#number}`;
        const item = { id, object: 'realtime.item', status: 'completed', ...event.item };
        this.#items.set(id, event.item.content[0].text);
        this.tell('conversation.item.added', { previous_item_id: null, item });
        this.tell('conversation.item.done', { previous_item_id: null, item });
        break;
      }
      case 'input_audio_buffer.commit':
        this.#commit(`item_${++this.#number}`);
        break;
      case 'input_audio_buffer.clear':
        this.tell('input_audio_buffer.cleared');
        break;
      case 'response.create':
        void this.#respond();
        break;
      case 'response.cancel':
        this.#cancel('client_cancelled');
        break;
      case 'output_audio_buffer.clear':
        break;
      case 'conversation.item.truncate': {
        const { item_id, content_index, audio_end_ms } = event;
        const whole = this.#items.get(item_id);
        if (whole === undefined) {
          this.tell('error', { error: { type: 'invalid_request_error', code: 'item_not_found', message: 'There is no such item.', event_id: event.event_id } });
          break;
        }
        const words = whole.split(' ');
        this.#items.set(item_id, words.slice(0, Math.round((words.length * audio_end_ms) / (this.stage.answer.seconds * 1000))).join(' '));
        this.tell('conversation.item.truncated', { item_id, content_index, audio_end_ms });
        break;
      }
      case 'conversation.item.retrieve': {
        const item = { id: event.item_id, type: 'message', role: 'assistant', content: [{ type: 'output_audio', transcript: this.#items.get(event.item_id) ?? '' }] };
        this.tell('conversation.item.retrieved', { item });
        break;
      }
    }
  }

  /** Somebody speaks while it is loud, and has ended once it was quiet for a while. */
  listen(level, ms) {
    this.heardMs += ms;
    if (this.turnDetection === null) return;
    const position = Math.round(this.heardMs);
    this.#quietMs = level > LOUD ? 0 : this.#quietMs + ms;
    if (level > LOUD && this.#speech === null) {
      this.#speech = `item_${++this.#number}`;
      this.tell('input_audio_buffer.speech_started', { audio_start_ms: position, item_id: this.#speech });
      this.#cancel('turn_detected');
    } else if (this.#speech !== null && this.#quietMs >= SILENCE_MS) {
      this.tell('input_audio_buffer.speech_stopped', { audio_end_ms: position, item_id: this.#speech });
      this.#commit(this.#speech);
      this.#speech = null;
      void this.#respond();
    }
  }

  #commit(id) {
    this.#items.set(id, HEARD);
    this.tell('input_audio_buffer.committed', { previous_item_id: null, item_id: id });
    this.tell('conversation.item.added', { previous_item_id: null, item: { id, type: 'message', role: 'user', status: 'completed', content: [{ type: 'input_audio', transcript: null }] } });
    if (this.transcription === null) return;
    const event = 'conversation.item.input_audio_transcription';
    for (const delta of HEARD.split(/(?<= )/)) this.tell(`${event}.delta`, { item_id: id, content_index: 0, delta });
    this.tell(`${event}.completed`, { item_id: id, content_index: 0, transcript: HEARD });
  }

  async #respond() {
    const id = `resp_${++this.#number}`;
    const itemId = `item_${++this.#number}`;
    this.#response = id;
    this.#items.set(itemId, ANSWER);
    const place = { response_id: id, item_id: itemId, output_index: 0, content_index: 0 };
    const item = { id: itemId, type: 'message', role: 'assistant', status: 'in_progress', content: [] };
    this.tell('response.created', { response: { id, object: 'realtime.response', status: 'in_progress', output: [] } });
    this.tell('response.output_item.added', { response_id: id, output_index: 0, item });
    this.tell('conversation.item.added', { previous_item_id: null, item });
    this.tell('response.content_part.added', { ...place, part: { type: 'audio', transcript: '' } });
    if (this.socket.carriesAudio) this.tell('output_audio_buffer.started', { response_id: id });
    const { seconds, chunkMs, pace, gapMs } = this.stage.answer;
    const words = ANSWER.split(/(?<= )/);
    const chunks = Math.ceil((seconds * 1000) / chunkMs);
    for (let chunk = 0; chunk < chunks && this.#response === id && !this.closed; chunk++) {
      const said = words.splice(0, Math.ceil(words.length / Math.max(1, chunks / 2 - chunk)));
      if (said.length > 0) this.tell('response.output_audio_transcript.delta', { ...place, delta: said.join('') });
      if (!this.socket.carriesAudio) this.tell('response.output_audio.delta', { ...place, delta: tone(chunk * chunkMs, chunkMs) });
      await pause(chunkMs / pace + (chunk === 2 ? gapMs : 0));
    }
    if (this.#response !== id) return;
    this.#response = null;
    if (!this.socket.carriesAudio) this.tell('response.output_audio.done', place);
    this.tell('response.output_audio_transcript.done', { ...place, transcript: ANSWER });
    this.tell('conversation.item.done', { previous_item_id: null, item: { ...item, status: 'completed', content: [{ type: 'output_audio', transcript: ANSWER }] } });
    this.tell('response.done', { response: { id, object: 'realtime.response', status: 'completed', output: [] } });
    if (this.socket.carriesAudio) this.tell('output_audio_buffer.stopped', { response_id: id });
  }

  #cancel(reason) {
    const id = this.#response;
    if (id === null) return;
    this.#response = null;
    if (this.socket.carriesAudio) this.tell('output_audio_buffer.cleared', { response_id: id });
    this.tell('response.done', { response: { id, object: 'realtime.response', status: 'cancelled', status_details: { type: 'cancelled', reason }, output: [] } });
  }
}

/** `ms` of a soft tone from `fromMs` on, as base64. */
function tone(fromMs, ms) {
  const from = Math.round((fromMs * RATE) / 1000);
  const samples = Int16Array.from({ length: Math.round((ms * RATE) / 1000) }, (_, i) => 6000 * Math.sin((2 * Math.PI * 330 * (from + i)) / RATE));
  return Buffer.from(samples.buffer).toString('base64');
}

const GRAPH = {
  model: MODEL,
  partitions: [],
  nodes: [
    { name: 'ear', partition: 'hearing', engine: 'stateless' },
    { name: 'thought', partition: 'thinking', engine: 'kv' },
    { name: 'frontend', partition: 'speaking', engine: 'stateless' },
    { name: 'vocoder', partition: 'speaking', engine: 'streaming' },
  ],
  edges: [
    { from: '', to: 'ear', port: 'audio', kind: 'stream', policy: { kind: 'fixed', chunk: 512 }, modality: 'audio' },
    { from: 'ear', to: 'thought', port: 'words', kind: 'pass' },
    { from: 'thought', to: 'frontend', port: 'text', kind: 'stream', policy: { kind: 'boundary', min: 24, max: 120 } },
    { from: 'frontend', to: 'vocoder', port: 'frames', kind: 'stream', policy: { kind: 'ramp', first: 8, max: 64 } },
    { from: 'vocoder', to: '', port: 'audio', kind: 'emit', modality: 'audio' },
  ],
};
