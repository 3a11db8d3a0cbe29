// What the server says in a realtime conversation, as in server/docs/protocol.md: each event parsed
// into what the page uses of it. The same events come over a WebSocket and over a data channel.
//
// An event that the page has no use for is `other`; one that lacks what it must have is a
// `ProtocolError`. Fields that the page does not know are left alone.

import { bytesFromBase64 } from '../audio/base64.ts';
import { asObject, errorMessage, isFields, parseJson, ProtocolError, type Fields } from '../protocol.ts';

/** What the page needs to know of a session; null where the server does not say. */
export interface SessionFacts {
  id: string;
  model: string | null;
  voice: string | null;
  /** Whether the user's words are written down. */
  transcribes: boolean;
}

export interface Item {
  id: string;
  kind: 'message' | 'function_call' | 'function_call_output' | 'other';
  role: 'user' | 'assistant' | 'system' | null;
  /** Its text or transcript; null where there is none yet. */
  text: string | null;
}

export type ResponseStatus = 'in_progress' | 'completed' | 'cancelled' | 'failed' | 'incomplete';

export interface ResponseFacts {
  id: string;
  status: ResponseStatus;
  /** `turn_detected`, `client_cancelled`, `max_output_tokens`, …; null where there is none. */
  reason: string | null;
  error: string | null;
}

/** One stage of a turn as the server measured it, from the end of speech. */
export interface Stage {
  name: string;
  ms: number;
}

export type ServerEvent =
  | { type: 'session.created' | 'session.updated'; session: SessionFacts }
  | { type: 'error'; message: string; code: string | null; eventId: string | null }
  | { type: 'input_audio_buffer.speech_started'; itemId: string; audioStartMs: number }
  | { type: 'input_audio_buffer.speech_stopped'; itemId: string; audioEndMs: number }
  | { type: 'input_audio_buffer.committed'; itemId: string; previousItemId: string | null }
  | { type: 'conversation.item.added' | 'conversation.item.done'; item: Item; previousItemId: string | null }
  | { type: 'conversation.item.retrieved'; item: Item }
  | { type: 'conversation.item.deleted'; itemId: string }
  | { type: 'conversation.item.truncated'; itemId: string; audioEndMs: number }
  | { type: 'transcription.delta'; itemId: string; text: string }
  | { type: 'transcription.completed'; itemId: string; text: string }
  | { type: 'transcription.failed'; itemId: string; message: string }
  | { type: 'response.created' | 'response.done'; response: ResponseFacts }
  | { type: 'response.text.delta'; itemId: string; responseId: string; text: string }
  | { type: 'response.text.done'; itemId: string; text: string }
  | { type: 'response.audio.delta'; itemId: string; responseId: string; contentIndex: number; bytes: Uint8Array }
  | { type: 'response.audio.done'; itemId: string }
  | { type: 'output_audio_buffer.started' | 'output_audio_buffer.stopped' | 'output_audio_buffer.cleared' }
  | { type: 'turn.timing'; stages: Stage[]; responseId: string | null }
  | { type: 'other'; name: string };

export function parseServerEvent(frame: string): ServerEvent {
  const event = asObject(parseJson(frame), 'an event');
  const type = string(event, 'type', 'an event');
  switch (type) {
    case 'session.created':
    case 'session.updated':
      return { type, session: parseSession(asObject(event['session'], `${type}: session`)) };
    case 'error':
      return parseError(event);
    case 'input_audio_buffer.speech_started':
      return { type, itemId: string(event, 'item_id', type), audioStartMs: numberOr(event['audio_start_ms'], 0) };
    case 'input_audio_buffer.speech_stopped':
      return { type, itemId: string(event, 'item_id', type), audioEndMs: numberOr(event['audio_end_ms'], 0) };
    case 'input_audio_buffer.committed':
      return { type, itemId: string(event, 'item_id', type), previousItemId: stringOrNull(event['previous_item_id']) };
    case 'conversation.item.created':
    case 'conversation.item.added':
      return { ...parseItemEvent(event, type), type: 'conversation.item.added' };
    case 'conversation.item.done':
      return { ...parseItemEvent(event, type), type };
    case 'conversation.item.retrieved':
      return { type, item: parseItem(event['item']) };
    case 'conversation.item.deleted':
      return { type, itemId: string(event, 'item_id', type) };
    case 'conversation.item.truncated':
      return { type, itemId: string(event, 'item_id', type), audioEndMs: numberOr(event['audio_end_ms'], 0) };
    case 'conversation.item.input_audio_transcription.delta':
      return { type: 'transcription.delta', itemId: string(event, 'item_id', type), text: text(event['delta']) };
    case 'conversation.item.input_audio_transcription.completed':
      return { type: 'transcription.completed', itemId: string(event, 'item_id', type), text: text(event['transcript']) };
    case 'conversation.item.input_audio_transcription.failed':
      return {
        type: 'transcription.failed',
        itemId: string(event, 'item_id', type),
        message: errorMessage(event) ?? 'What you said could not be written down.',
      };
    case 'response.created':
    case 'response.done':
      return { type, response: parseResponse(asObject(event['response'], `${type}: response`)) };
    case 'response.output_audio_transcript.delta':
    case 'response.output_text.delta':
      return { type: 'response.text.delta', ...responseItem(event, type), text: text(event['delta']) };
    case 'response.output_audio_transcript.done':
      return { type: 'response.text.done', itemId: string(event, 'item_id', type), text: text(event['transcript']) };
    case 'response.output_text.done':
      return { type: 'response.text.done', itemId: string(event, 'item_id', type), text: text(event['text']) };
    case 'response.output_audio.delta':
      return {
        type: 'response.audio.delta',
        ...responseItem(event, type),
        contentIndex: numberOr(event['content_index'], 0),
        bytes: parseAudio(string(event, 'delta', type)),
      };
    case 'response.output_audio.done':
      return { type: 'response.audio.done', itemId: string(event, 'item_id', type) };
    case 'output_audio_buffer.started':
    case 'output_audio_buffer.stopped':
    case 'output_audio_buffer.cleared':
      return { type };
    case 'promenade.turn.timing':
      return { type: 'turn.timing', ...parseTiming(event) };
    default:
      return { type: 'other', name: type };
  }
}

function parseSession(session: Fields): SessionFacts {
  const audio = fields(session['audio']);
  const voice = fields(audio['output'])['voice'];
  return {
    id: text(session['id']),
    model: stringOrNull(session['model']),
    voice: stringOrNull(isFields(voice) ? voice['id'] : voice),
    transcribes: isFields(fields(audio['input'])['transcription']),
  };
}

function parseError(event: Fields): ServerEvent {
  const error = fields(event['error']);
  return {
    type: 'error',
    message: errorMessage(event) ?? 'The server reported an error without a message.',
    code: stringOrNull(error['code']),
    eventId: stringOrNull(error['event_id']),
  };
}

function parseItemEvent(event: Fields, type: string): { item: Item; previousItemId: string | null } {
  return { item: parseItem(event['item'], type), previousItemId: stringOrNull(event['previous_item_id']) };
}

const ITEM_KINDS = ['message', 'function_call', 'function_call_output'] as const;
const ROLES = ['user', 'assistant', 'system'] as const;

function parseItem(value: unknown, what = 'an item'): Item {
  const item = asObject(value, `${what}: item`);
  return {
    id: string(item, 'id', what),
    kind: ITEM_KINDS.find((kind) => kind === item['type']) ?? 'other',
    role: ROLES.find((role) => role === item['role']) ?? null,
    text: itemText(item),
  };
}

function itemText(item: Fields): string | null {
  const content = item['content'];
  if (!Array.isArray(content)) return null;
  const parts = content.filter(isFields).map((part) => stringOrNull(part['text']) ?? stringOrNull(part['transcript']));
  const said = parts.filter((part) => part !== null);
  return said.length === 0 ? null : said.join(' ');
}

const STATUSES = ['in_progress', 'completed', 'cancelled', 'failed', 'incomplete'] as const;

function parseResponse(response: Fields): ResponseFacts {
  const details = fields(response['status_details']);
  return {
    id: string(response, 'id', 'a response'),
    status: STATUSES.find((status) => status === response['status']) ?? 'in_progress',
    reason: stringOrNull(details['reason']),
    error: isFields(details['error']) ? errorMessage({ error: details['error'] }) ?? stringOrNull(details['error']['code']) : null,
  };
}

/** Milliseconds by what happened, counted from `speech_end`; null is what did not happen. */
function parseTiming(event: Fields): { stages: Stage[]; responseId: string | null } {
  const { speech_end: start, ...after } = fields(event['stages']);
  const known = typeof start === 'number' ? Object.entries(after) : [];
  const stages = known.flatMap(([name, ms]) => stageOf(name, ms)).sort((a, b) => a.ms - b.ms);
  return { responseId: stringOrNull(event['response_id']), stages };
}

function stageOf(name: string, ms: unknown): Stage[] {
  return name !== '' && typeof ms === 'number' && Number.isFinite(ms) ? [{ name: name.replaceAll('_', ' '), ms }] : [];
}

function parseAudio(base64: string): Uint8Array {
  const bytes = bytesFromBase64(base64);
  if (bytes === null) throw new ProtocolError('audio that is not base64');
  return bytes;
}

function responseItem(event: Fields, what: string): { itemId: string; responseId: string } {
  return { itemId: string(event, 'item_id', what), responseId: text(event['response_id']) };
}

function string(event: Fields, name: string, what: string): string {
  const value = event[name];
  if (typeof value !== 'string') throw new ProtocolError(`${what} without "${name}"`);
  return value;
}

function stringOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : otherwise;
}

function fields(value: unknown): Fields {
  return isFields(value) ? value : {};
}
