// `POST /v1/audio/speech`, read as a stream. The whole text goes in one request.

import { keyHeaders } from '../key.ts';
import { errorMessage, PATHS, PCM_RATE, speechBody, type SpeechOptions } from '../protocol.ts';
import { LOST, UNREACHABLE, type Speech, type SpeechEvents, type Transport } from './transport.ts';

/** Bytes of an error answer that are read at most. */
const MAX_ERROR_BYTES = 64 * 1024;

export class HttpTransport implements Transport {
  readonly incremental = false;

  open(options: SpeechOptions, events: SpeechEvents): Speech {
    return new HttpSpeech(options, events);
  }
}

class HttpSpeech implements Speech {
  readonly #options: SpeechOptions;
  readonly #events: SpeechEvents;
  readonly #abort = new AbortController();
  #text = '';

  constructor(options: SpeechOptions, events: SpeechEvents) {
    this.#options = options;
    this.#events = events;
  }

  send(text: string): void {
    this.#text += text;
  }

  finish(): void {
    void this.#run();
  }

  cancel(): void {
    this.#abort.abort();
  }

  async #run(): Promise<void> {
    const { signal } = this.#abort;
    let answered = false;
    try {
      this.#events.sent();
      const response = await fetch(PATHS.speech, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...keyHeaders() },
        body: speechBody(this.#options, this.#text),
        signal,
      });
      answered = true;
      if (!response.ok || response.body === null) {
        const message = await refusal(response);
        if (!signal.aborted) this.#events.failed(message);
        return;
      }
      this.#events.started(PCM_RATE);
      await this.#read(response.body.getReader());
      if (!signal.aborted) this.#events.done(null);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof TypeError)) throw error;
      this.#events.failed(answered ? LOST : UNREACHABLE);
    }
  }

  async #read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    let first = true;
    for (;;) {
      const { done, value } = await reader.read();
      if (done || this.#abort.signal.aborted) return;
      if (value.length === 0) continue;
      if (first) this.#events.answered();
      first = false;
      this.#events.audio(value);
    }
  }
}

/** Why the server refused, in its own words where it gave some. */
async function refusal(response: Response): Promise<string> {
  const body = (await response.text()).slice(0, MAX_ERROR_BYTES);
  const wait = response.headers.get('retry-after');
  const hint = wait === null ? '' : ` Try again in ${wait} s.`;
  let message: string | null = null;
  try {
    message = errorMessage(JSON.parse(body));
  } catch {
    // Not JSON: some proxy's page, which helps nobody here.
  }
  return (message ?? `The server answered ${response.status} ${response.statusText}.`) + hint;
}
