// The messages, as in server/docs/protocol.md: what the page sends, and how it reads what comes.
//
// Everything from outside is parsed here into types that cannot be wrong; a message that does not
// parse is a `ProtocolError` that says what was expected. Fields that the page does not know are
// left alone, so that a newer server may add some.

export const PATHS = {
  models: '/v1/models',
  voices: '/v1/audio/voices',
  speech: '/v1/audio/speech',
  speechStream: '/v1/audio/speech/stream',
  realtime: '/v1/realtime',
  calls: '/v1/realtime/calls',
  ready: '/ready',
  metrics: '/metrics',
  graph: (model: string) => `/v1/models/${encodeURIComponent(model)}/graph?format=json`,
} as const;

/** Rate of `response_format: "pcm"`, by definition of the speech door. */
export const PCM_RATE = 24_000;

/** `speed` as the speech doors take it. */
export const SPEED = { min: 0.25, max: 4 } as const;

/** What both speech doors need to know beside the text. */
export interface SpeechOptions {
  model: string;
  voice: string;
  /** 0.25..4; 1 is the voice's own pace. */
  speed: number;
}

/** A message that is not what the protocol page says. */
export class ProtocolError extends Error {
  override name = 'ProtocolError';
}

export function speechBody(options: SpeechOptions, input: string): string {
  return JSON.stringify({ ...options, input, response_format: 'pcm', stream_format: 'audio' });
}

export const clientMessage = {
  config: (options: SpeechOptions) =>
    JSON.stringify({ type: 'session.config', ...options, response_format: 'pcm' }),
  text: (text: string) => JSON.stringify({ type: 'input.text', text }),
  done: () => JSON.stringify({ type: 'input.done' }),
};

/** One word with its place in the audio and, where the server says it, in the text. */
export interface Word {
  text: string;
  /** Seconds from the start of the audio. */
  start: number;
  end: number;
  /** Half-open range of characters of the whole input text (Unicode scalars, not UTF-16 units). */
  source: readonly [number, number] | null;
}

/** What the WebSocket door sends as text frames. Audio comes as binary frames. */
export type ServerMessage =
  | { type: 'audio.start'; rate: number }
  | { type: 'audio.words'; words: Word[] }
  | { type: 'audio.done' }
  | { type: 'input.skipped'; message: string }
  | { type: 'session.done'; serverRtf: number | null }
  | { type: 'error'; message: string }
  | { type: 'other'; name: string };

export function parseServerMessage(frame: string): ServerMessage {
  const message = asObject(parseJson(frame), 'a message');
  const type = message['type'];
  if (typeof type !== 'string') throw new ProtocolError('a message without a "type"');
  switch (type) {
    case 'audio.start':
      return { type, rate: parseStart(message) };
    case 'audio.words':
      return { type, words: parseWords(message) };
    case 'audio.done':
      return { type };
    case 'input.skipped':
      return { type, message: errorMessage(message) ?? 'There was nothing to say in the text.' };
    case 'session.done':
      return { type, serverRtf: numberOrNull(message['rtf']) };
    case 'error':
      return { type, message: errorMessage(message) ?? 'the server reported an error without a message' };
    default:
      return { type: 'other', name: type };
  }
}

function parseStart(message: Fields): number {
  const format = message['format'];
  if (format !== undefined && format !== 'pcm') {
    throw new ProtocolError(`audio in "${String(format)}", though "pcm" was asked for`);
  }
  const rate = message['sample_rate'] ?? PCM_RATE;
  if (typeof rate !== 'number' || !Number.isInteger(rate) || rate < 8_000 || rate > 192_000) {
    throw new ProtocolError(`audio at ${String(rate)} samples per second; 8000 to 192000 can be played`);
  }
  return rate;
}

function parseWords(message: Fields): Word[] {
  return asList(message['words'], 'words').map((item) => {
    const word = asObject(item, 'a word');
    const text = word['text'] ?? word['word'];
    const start = word['start'];
    const end = word['end'];
    if (typeof text !== 'string' || typeof start !== 'number' || typeof end !== 'number') {
      throw new ProtocolError('a word needs "text", "start" and "end"');
    }
    return { text, start, end, source: parseRange(word['source']) };
  });
}

function parseRange(value: unknown): readonly [number, number] | null {
  if (!Array.isArray(value)) return null;
  const [start, end] = value as unknown[];
  return typeof start === 'number' && typeof end === 'number' && start <= end ? [start, end] : null;
}

/** A voice; `model` is null where it serves every model. */
export interface Voice {
  id: string;
  model: string | null;
}

/** Ids of the models for speech that the server offers, each once. */
export function parseModels(body: unknown): string[] {
  const list = asList(asObject(body, 'the list of models')['data'], 'models');
  const speaks = (item: unknown): boolean => !isFields(item) || (item['task'] ?? 'speech') === 'speech';
  return [...new Set(list.filter(speaks).map((item) => parseId(item, 'model')))];
}

/**
 * Ids of the models that one can talk to: those for chat, where the server has a door for
 * conversations. Who listens and who speaks beside them is found at that door as well.
 */
export function parseTalkModels(body: unknown): string[] {
  const list = asList(asObject(body, 'the list of models')['data'], 'models').filter(isFields);
  const atDoor = list.filter(({ endpoints }) => Array.isArray(endpoints) && endpoints.includes(PATHS.realtime));
  const talking = atDoor.length === 0 ? [] : list.filter(({ task }) => task === 'chat');
  return [...new Set(talking.map((item) => parseId(item, 'model')))];
}

/** The voices that the server offers. */
export function parseVoices(body: unknown): Voice[] {
  const list = asList(asObject(body, 'the list of voices')['voices'], 'voices');
  return list.map((item) => {
    const model = isFields(item) ? item['model'] : null;
    return { id: parseId(item, 'voice'), model: typeof model === 'string' ? model : null };
  });
}

function parseId(item: unknown, kind: string): string {
  if (typeof item === 'string') return item;
  const fields = asObject(item, `a ${kind}`);
  const id = fields['id'] ?? fields['name'];
  if (typeof id !== 'string') throw new ProtocolError(`a ${kind} without "id"`);
  return id;
}

export function asList(value: unknown, what: string): unknown[] {
  if (!Array.isArray(value)) throw new ProtocolError(`"${what}" is not a list`);
  return value;
}

/** The message of `{error: {message}}` or `{message}`, if `body` is one. */
export function errorMessage(body: unknown): string | null {
  if (!isFields(body)) return null;
  const error = isFields(body['error']) ? body['error'] : body;
  const message = typeof body['error'] === 'string' ? body['error'] : error['message'];
  return typeof message === 'string' && message.trim() !== '' ? message : null;
}

/** The code of `{error: {code}}`, if `body` is one. */
export function errorCode(body: unknown): string | null {
  const error = isFields(body) ? body['error'] : null;
  return isFields(error) && typeof error['code'] === 'string' ? error['code'] : null;
}

export type Fields = Record<string, unknown>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function asObject(value: unknown, what: string): Fields {
  if (!isFields(value)) throw new ProtocolError(`${what} is not a JSON object`);
  return value;
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ProtocolError('a message that is not JSON');
  }
}

/** `text` read as JSON, where it is. */
export function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}
