// `POST /v1/realtime/calls`: audio goes by RTP both ways, events over the data channel
// `oai-events`.
//
// The offer goes out before candidates are gathered: the server's own are in its answer, and it
// learns ours from our first packets. So a slow or unreachable STUN server delays nothing.

import { keyHeaders } from '../key.ts';
import { jsonOrNull, PATHS } from '../protocol.ts';
import { UNREACHABLE } from '../transport/transport.ts';
import { faultFromRefusal, LOST_CONNECTION, type Link, type LinkEvents, type LinkFault, type LinkOptions } from './link.ts';

const CHANNEL = 'oai-events';
/** From the first step until events flow. */
const OPEN_TIMEOUT_MS = 12_000;
/** A path that is lost may come back by itself; longer than this it does not. */
const PATIENCE_MS = 5_000;

const NO_PATH =
  'The media connection could not be made: something on the way may block UDP. WebSocket, in the settings, needs none.';

export function openWebRtcLink(options: LinkOptions, events: LinkEvents): Link {
  return new WebRtcLink(options, events);
}

class WebRtcLink implements Link {
  readonly kind = 'webrtc';
  readonly carriesAudio = true;
  readonly #events: LinkEvents;
  readonly #options: LinkOptions;
  readonly #peer = new RTCPeerConnection();
  readonly #channel: RTCDataChannel;
  readonly #abort = new AbortController();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #call: string | null = null;
  #over = false;

  constructor(options: LinkOptions, events: LinkEvents) {
    this.#options = options;
    this.#events = events;
    this.#channel = this.#peer.createDataChannel(CHANNEL);
    this.#listen();
    this.#wait(OPEN_TIMEOUT_MS, { message: NO_PATH, retry: 'soon' });
    void this.#open();
  }

  get waiting(): number {
    return this.#channel.bufferedAmount;
  }

  send(frame: string): void {
    if (this.#channel.readyState === 'open') this.#channel.send(frame);
  }

  close(): void {
    if (this.#over) return;
    this.#over = true;
    this.#stopWaiting();
    this.#abort.abort();
    this.#channel.close();
    this.#peer.close();
    // The server would notice by itself, but later.
    if (this.#call !== null) {
      const headers = keyHeaders(this.#options.key);
      const told = fetch(`${this.#call}/hangup`, { method: 'POST', headers, keepalive: true });
      // An answer that nobody reads stays open.
      void told.then((answer) => answer.text()).catch(() => undefined);
    }
  }

  #listen(): void {
    this.#channel.onopen = () => {
      this.#stopWaiting();
      if (!this.#over) this.#events.opened();
    };
    this.#channel.onmessage = (event: MessageEvent<unknown>) => {
      if (!this.#over && typeof event.data === 'string') this.#events.message(event.data);
    };
    this.#channel.onclose = () => this.#fail({ message: LOST_CONNECTION, retry: 'soon' });
    this.#peer.ontrack = ({ track, streams }) => {
      if (!this.#over) this.#events.voice(streams[0] ?? new MediaStream([track]));
    };
    this.#peer.onconnectionstatechange = () => this.#pathChanged();
  }

  #pathChanged(): void {
    switch (this.#peer.connectionState) {
      case 'connected':
        if (this.#channel.readyState === 'open') this.#stopWaiting();
        break;
      case 'disconnected':
        this.#wait(PATIENCE_MS, { message: LOST_CONNECTION, retry: 'soon' });
        break;
      case 'failed':
        this.#fail({ message: this.#channel.readyState === 'open' ? LOST_CONNECTION : NO_PATH, retry: 'soon' });
        break;
    }
  }

  async #open(): Promise<void> {
    try {
      const { microphone } = this.#options;
      if (microphone === null) this.#peer.addTransceiver('audio', { direction: 'recvonly' });
      else this.#peer.addTrack(microphone, new MediaStream([microphone]));
      const offer = await this.#peer.createOffer();
      await this.#peer.setLocalDescription(offer);
      const answer = await this.#askForAnswer(offer.sdp ?? '');
      if (answer !== null && !this.#over) await this.#peer.setRemoteDescription({ type: 'answer', sdp: answer });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#fail({ message: `The media connection could not be set up: ${reason}`, retry: 'soon' });
    }
  }

  /** Sends the offer; gives the answer, or null once it has failed. */
  async #askForAnswer(sdp: string): Promise<string | null> {
    const { key, model } = this.#options;
    const body = new FormData();
    body.append('sdp', new Blob([sdp], { type: 'application/sdp' }), 'offer.sdp');
    body.append('session', new Blob([JSON.stringify({ type: 'realtime', model })], { type: 'application/json' }), 'session.json');
    let answer: Response;
    try {
      answer = await fetch(PATHS.calls, { method: 'POST', headers: keyHeaders(key), body, signal: this.#abort.signal });
    } catch {
      this.#fail({ message: UNREACHABLE, retry: 'soon' });
      return null;
    }
    const text = await answer.text();
    if (!answer.ok) {
      const refusal = { status: answer.status, body: jsonOrNull(text), retryAfter: answer.headers.get('retry-after') };
      this.#fail(faultFromRefusal('webrtc', refusal));
      return null;
    }
    this.#call = answer.headers.get('location');
    return text;
  }

  #wait(ms: number, fault: LinkFault): void {
    this.#stopWaiting();
    this.#timer = setTimeout(() => this.#fail(fault), ms);
  }

  #stopWaiting(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #fail(fault: LinkFault): void {
    if (this.#over) return;
    this.close();
    this.#events.failed(fault);
  }
}
