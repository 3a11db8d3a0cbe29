// The page: asks what the server offers, again and again while it is away, and tells the tabs.

import { setKey } from './key.ts';
import { fetchOffer, ServerError, type Offer } from './server.ts';
import { LoadTab } from './tabs/load.ts';
import { SpeakTab } from './tabs/speak.ts';
import { TalkTab } from './tabs/talk.ts';
import { byId } from './ui/dom.ts';
import { Tabs } from './ui/tabs.ts';

/** A server that is gone is asked again this often. */
const RETRY_MS = 2_000;

export class App {
  readonly #server = byId('server', HTMLElement);
  readonly #keyForm = byId('key-form', HTMLFormElement);
  readonly #key = byId('key', HTMLInputElement);
  readonly #speak = new SpeakTab(() => this.connect());
  readonly #talk = new TalkTab();
  readonly #load = new LoadTab();
  readonly #tabs = new Tabs((name) => this.#load.show(name === 'load'));
  #retry: ReturnType<typeof setTimeout> | null = null;

  constructor() {
    this.#keyForm.addEventListener('submit', (event) => {
      event.preventDefault();
      setKey(this.#key.value);
      this.#key.value = '';
      void this.connect();
    });
  }

  async connect(): Promise<void> {
    try {
      this.#offered(await fetchOffer());
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      this.#refused(error);
    }
  }

  #offered(offer: Offer): void {
    const count = new Set([...offer.models, ...offer.talk]).size;
    this.#showServer('ready', `${count} model${count === 1 ? '' : 's'} ready`);
    this.#keyForm.hidden = true;
    this.#speak.offer(offer);
    this.#talk.offer(offer);
    this.#tabs.start(offer.talk.length > 0 ? 'talk' : 'speak');
  }

  #refused(error: ServerError): void {
    this.#tabs.start('speak');
    this.#speak.unavailable(error.message);
    this.#talk.unavailable(error.message);
    if (error.status === 401 || error.status === 403) {
      this.#showServer('gone', 'Waiting for a key');
      this.#keyForm.hidden = false;
      return;
    }
    this.#showServer('gone', 'No server; trying again');
    this.#retry ??= setTimeout(() => {
      this.#retry = null;
      void this.connect();
    }, RETRY_MS);
  }

  #showServer(state: 'ready' | 'gone', text: string): void {
    this.#server.dataset['server'] = state;
    this.#server.textContent = text;
  }
}
