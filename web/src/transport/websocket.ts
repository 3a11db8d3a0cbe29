// `WS /v1/audio/speech/stream`: text goes in as it is typed, audio and word times come out.

import { keyProtocols } from '../key.ts';
import { clientMessage, parseServerMessage, PATHS, ProtocolError, type ServerMessage, type SpeechOptions } from '../protocol.ts';
import { LOST, UNREACHABLE, type Speech, type SpeechEvents, type Transport } from './transport.ts';

/** Characters of text kept while the socket opens; the server's own limit is lower. */
const MAX_WAITING_CHARS = 1_000_000;

export class WebSocketTransport implements Transport {
  readonly incremental = true;
  readonly #origin: string;

  /** `origin` is the page's, as in `http://host:port`. */
  constructor(origin: string) {
    this.#origin = origin.replace(/^http/, 'ws');
  }

  open(options: SpeechOptions, events: SpeechEvents): Speech {
    return new WebSocketSpeech(new WebSocket(this.#origin + PATHS.speechStream, keyProtocols()), options, events);
  }
}

class WebSocketSpeech implements Speech {
  readonly #socket: WebSocket;
  readonly #events: SpeechEvents;
  /** Text that waits for the socket to open; null once it is open. */
  #waiting: string | null = '';
  #finished = false;
  #sent = false;
  #answered = false;
  /** Nothing is reported any more: it is done, failed or cancelled. */
  #over = false;

  constructor(socket: WebSocket, options: SpeechOptions, events: SpeechEvents) {
    this.#socket = socket;
    this.#events = events;
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => this.#opened(options);
    socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) => this.#received(event.data);
    socket.onclose = (event) => this.#closed(event);
  }

  send(text: string): void {
    if (text === '' || this.#over || this.#finished) return;
    if (this.#waiting !== null) {
      this.#waiting = (this.#waiting + text).slice(0, MAX_WAITING_CHARS);
      return;
    }
    this.#socket.send(clientMessage.text(text));
    if (!this.#sent) this.#events.sent();
    this.#sent = true;
  }

  finish(): void {
    if (this.#over || this.#finished) return;
    this.#finished = true;
    if (this.#waiting === null) this.#socket.send(clientMessage.done());
  }

  cancel(): void {
    this.#over = true;
    this.#socket.close(1000);
  }

  #opened(options: SpeechOptions): void {
    if (this.#over) return;
    this.#socket.send(clientMessage.config(options));
    const text = this.#waiting ?? '';
    const finished = this.#finished;
    this.#waiting = null;
    this.#finished = false;
    this.send(text);
    if (finished) this.finish();
  }

  #received(data: string | ArrayBuffer): void {
    if (this.#over) return;
    if (data instanceof ArrayBuffer) {
      this.#noteAnswer();
      this.#events.audio(new Uint8Array(data));
      return;
    }
    try {
      this.#handle(parseServerMessage(data));
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#fail(`The server sent something unexpected: ${error.message}.`);
    }
  }

  #handle(message: ServerMessage): void {
    switch (message.type) {
      case 'audio.start':
        this.#noteAnswer();
        this.#events.started(message.rate);
        break;
      case 'audio.words':
        this.#events.words(message.words);
        break;
      case 'session.done':
        this.#over = true;
        this.#socket.close(1000);
        this.#events.done(message.serverRtf);
        break;
      case 'input.skipped':
      case 'error':
        this.#fail(message.message);
        break;
      case 'audio.done':
      case 'other':
        break;
    }
  }

  #noteAnswer(): void {
    if (!this.#answered) this.#events.answered();
    this.#answered = true;
  }

  #fail(message: string): void {
    this.#over = true;
    this.#socket.close(1000);
    this.#events.failed(message);
  }

  #closed(event: CloseEvent): void {
    if (this.#over) return;
    this.#over = true;
    if (event.reason !== '') this.#events.failed(event.reason);
    else this.#events.failed(this.#waiting === null ? LOST : UNREACHABLE);
  }
}
