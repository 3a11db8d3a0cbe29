// `GET /v1/realtime`: events and audio both as JSON over one WebSocket.

import { keyHeaders, keyProtocols } from '../key.ts';
import { errorCode, jsonOrNull, PATHS } from '../protocol.ts';
import { UNREACHABLE } from '../transport/transport.ts';
import { faultFromRefusal, LOST_CONNECTION, type Link, type LinkEvents, type LinkFault, type LinkOptions } from './link.ts';

/** A server that is there answers sooner. */
const OPEN_TIMEOUT_MS = 10_000;
const PROBE_TIMEOUT_MS = 4_000;

export function openWebSocketLink(options: LinkOptions, events: LinkEvents): Link {
  return new WebSocketLink(options, events);
}

class WebSocketLink implements Link {
  readonly kind = 'ws';
  readonly carriesAudio = false;
  readonly #events: LinkEvents;
  readonly #options: LinkOptions;
  readonly #timeout: ReturnType<typeof setTimeout>;
  #socket: WebSocket | null = null;
  #opened = false;
  #over = false;

  constructor(options: LinkOptions, events: LinkEvents) {
    const { model, key } = options;
    this.#options = options;
    this.#events = events;
    this.#timeout = setTimeout(() => this.#fail({ message: UNREACHABLE, retry: 'soon' }), OPEN_TIMEOUT_MS);
    try {
      this.#socket = new WebSocket(realtimeUrl(model), keyProtocols(key));
    } catch {
      // Told later, as every other failure is.
      const fault: LinkFault = { message: 'The key has characters in it that a browser cannot send.', retry: 'no' };
      queueMicrotask(() => this.#fail(fault));
      return;
    }
    this.#socket.onopen = () => {
      clearTimeout(this.#timeout);
      this.#opened = true;
      if (!this.#over) events.opened();
    };
    this.#socket.onmessage = (event: MessageEvent<unknown>) => {
      if (!this.#over && typeof event.data === 'string') events.message(event.data);
    };
    this.#socket.onclose = (event) => void this.#closed(event);
  }

  get waiting(): number {
    return this.#socket?.bufferedAmount ?? 0;
  }

  send(frame: string): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(frame);
  }

  close(): void {
    this.#over = true;
    clearTimeout(this.#timeout);
    this.#socket?.close(1000);
  }

  async #closed(event: CloseEvent): Promise<void> {
    clearTimeout(this.#timeout);
    if (this.#over) return;
    if (this.#opened) {
      this.#fail({ message: event.reason === '' ? LOST_CONNECTION : event.reason, retry: retryAfterClose(event.code) });
      return;
    }
    // A browser does not say why an upgrade was refused; another question may.
    this.#fail(await whyRefused(this.#options.model, this.#options.key));
  }

  #fail(fault: LinkFault): void {
    if (this.#over) return;
    this.close();
    this.#events.failed(fault);
  }
}

function realtimeUrl(model: string): string {
  return `${location.origin.replace(/^http/, 'ws')}${realtimePath(model)}`;
}

function realtimePath(model: string): string {
  return `${PATHS.realtime}?model=${encodeURIComponent(model)}`;
}

/** 1008 is "against the rules" and 1003 "not acceptable": the same again helps nobody. */
function retryAfterClose(code: number): 'soon' | 'no' {
  return code === 1003 || code === 1008 ? 'no' : 'soon';
}

/** Asks the server's paths in plain HTTP until one of them says what is wrong. */
async function whyRefused(model: string, key: string | null): Promise<LinkFault> {
  const headers = keyHeaders(key);
  const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
  try {
    for (const path of [PATHS.ready, realtimePath(model)]) {
      const answer = await fetch(path, { headers, signal });
      const body = jsonOrNull(await answer.text());
      // The door wants a WebSocket, which this was not: so it is there.
      if (answer.ok || errorCode(body) === 'upgrade_required') continue;
      return faultFromRefusal('ws', { status: answer.status, body, retryAfter: answer.headers.get('retry-after') });
    }
  } catch {
    return { message: UNREACHABLE, retry: 'soon' };
  }
  return { message: 'The server is there, and refused the conversation without saying why.', retry: 'soon' };
}
