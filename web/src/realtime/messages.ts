// What the page says in a realtime conversation. One function an event; each gives its JSON.

import { base64FromPcm } from '../audio/base64.ts';
import type { Fields } from '../protocol.ts';

/**
 * The id of events whose refusal is no news: to stop an answer that has just ended by itself, or to
 * cut an item that the server has cut already. An error names the id of the event that it is about.
 */
export const QUIET = 'quiet';

function event(type: string, rest: Fields = {}): string {
  return JSON.stringify({ type, ...rest });
}

export const say = {
  session: (session: Fields) => event('session.update', { session }),
  /** `samples` at 24 kHz. */
  audio: (samples: Int16Array) => event('input_audio_buffer.append', { audio: base64FromPcm(samples) }),
  commit: () => event('input_audio_buffer.commit'),
  clear: () => event('input_audio_buffer.clear'),
  text: (text: string) => event('conversation.item.create', { item: message('user', 'input_text', text) }),
  /** What was said before, told to a session that begins anew. */
  past: (role: 'user' | 'assistant', text: string) =>
    event('conversation.item.create', { item: message(role, role === 'user' ? 'input_text' : 'output_text', text) }),
  retrieve: (itemId: string) => event('conversation.item.retrieve', { event_id: QUIET, item_id: itemId }),
  truncate: (itemId: string, contentIndex: number, audioEndMs: number) =>
    event('conversation.item.truncate', {
      event_id: QUIET,
      item_id: itemId,
      content_index: contentIndex,
      audio_end_ms: audioEndMs,
    }),
  respond: () => event('response.create'),
  cancel: () => event('response.cancel', { event_id: QUIET }),
  /** On WebRTC, where the server holds the audio that is still to be played. */
  clearOutput: () => event('output_audio_buffer.clear', { event_id: QUIET }),
};

function message(role: string, type: string, text: string): Fields {
  return { type: 'message', role, content: [{ type, text }] };
}
