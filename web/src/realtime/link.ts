// What the ways to a realtime conversation look like to the page: events as JSON text go in and
// out, and audio goes as the way carries it.

import { errorCode, errorMessage } from '../protocol.ts';
import type { LinkKind, TalkSettings } from './settings.ts';

/** Why a link is not there or ended. */
export interface LinkFault {
  /** In words, for the reader. */
  message: string;
  /** Whether another try may help: `no` where the server said that it will not. */
  retry: 'soon' | 'no';
}

export interface LinkEvents {
  /** Events can be sent now. */
  opened(): void;
  /** One event of the server, as JSON. */
  message(frame: string): void;
  /** The server's voice, where it does not come in events. */
  voice(stream: MediaStream): void;
  /** It ended or never began, not by `close`. Nothing follows. */
  failed(fault: LinkFault): void;
}

/** One session's connection. */
export interface Link {
  readonly kind: LinkKind;
  /** Whether audio travels beside the events, not in them. */
  readonly carriesAudio: boolean;
  send(frame: string): void;
  /** Bytes that the network has not taken yet. */
  readonly waiting: number;
  /** Ends it, and the session with it; no event follows. */
  close(): void;
}

export interface LinkOptions {
  model: string;
  key: string | null;
  settings: TalkSettings;
  /** The microphone, where the link carries audio itself; null: there is none. */
  microphone: MediaStreamTrack | null;
}

export type OpenLink = (options: LinkOptions, events: LinkEvents) => Link;

export const LOST_CONNECTION = 'The connection to the server was lost.';

const NO_DOOR: Record<LinkKind, string> = {
  ws: 'This server holds no conversations over WebSocket.',
  webrtc: 'This server holds no conversations over WebRTC. Choose WebSocket in the settings.',
};

/** An answer that is not what was asked for. */
export interface Refusal {
  status: number;
  /** The body as JSON; null where it is none. */
  body: unknown;
  /** Seconds, as the header has them. */
  retryAfter: string | null;
}

/** What the refusal of a `kind` of link means, in words. */
export function faultFromRefusal(kind: LinkKind, { status, body, retryAfter }: Refusal): LinkFault {
  const message = errorMessage(body);
  const said = message === null ? '' : ` ${message}`;
  const wait = retryAfter === null ? '' : ` Try again in ${retryAfter} s.`;
  if (status === 401 || status === 403) return { message: `The key is missing or wrong.${said}`, retry: 'no' };
  // A path that is there says what else was not found.
  const noDoor = status === 405 || (status === 404 && ['unknown_path', null].includes(errorCode(body)));
  if (noDoor) return { message: NO_DOOR[kind], retry: 'no' };
  if (status === 429 || status === 503 || status === 529) {
    return { message: `The server is full right now.${said}${wait}`, retry: 'soon' };
  }
  if (status >= 500) return { message: `The server failed.${said}${wait}`, retry: 'soon' };
  return { message: message ?? `The server answered with status ${status}.`, retry: 'no' };
}
