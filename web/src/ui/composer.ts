// The form: what to say, by which model and voice, through which door.

import { SPEED, type SpeechOptions, type Voice } from '../protocol.ts';
import { byId, element, fillSelect } from './dom.ts';
import { SAMPLES } from './samples.ts';

export type Door = 'ws' | 'http';

/** What the page does, as far as the form is concerned. */
export type Activity = 'loading' | 'ready' | 'speaking' | 'unavailable';

export interface Handlers {
  speak(): void;
  stop(): void;
  again(): void;
  save(): void;
  typed(): void;
  modelChosen(model: string): void;
  changed(): void;
}

export class Composer {
  readonly #form = byId('composer', HTMLFormElement);
  readonly #text = byId('text', HTMLTextAreaElement);
  readonly #count = byId('count', HTMLElement);
  readonly #model = byId('model', HTMLSelectElement);
  readonly #voice = byId('voice', HTMLSelectElement);
  readonly #speed = byId('speed', HTMLInputElement);
  readonly #speedValue = byId('speed-value', HTMLOutputElement);
  readonly #prebuffer = byId('prebuffer', HTMLSelectElement);
  readonly #ws = byId('door-ws', HTMLInputElement);
  readonly #http = byId('door-http', HTMLInputElement);
  readonly #live = byId('live', HTMLInputElement);
  readonly #speak = byId('speak', HTMLButtonElement);
  readonly #stop = byId('stop', HTMLButtonElement);
  readonly #again = byId('again', HTMLButtonElement);
  readonly #save = byId('save', HTMLButtonElement);
  readonly #error = byId('error', HTMLElement);
  readonly #handlers: Handlers;
  #voices: Voice[] = [];
  #activity: Activity = 'loading';
  #hasTake = false;

  constructor(handlers: Handlers) {
    this.#handlers = handlers;
    this.#addSamples();
    this.#listen();
    this.#speed.min = String(SPEED.min);
    this.#speed.max = String(SPEED.max);
    this.#showCount();
    this.#showSpeed();
    this.#enable();
  }

  get text(): string {
    return this.#text.value;
  }

  get options(): SpeechOptions {
    return { model: this.#model.value, voice: this.#voice.value, speed: Number(this.#speed.value) };
  }

  get door(): Door {
    return this.#ws.checked ? 'ws' : 'http';
  }

  get prebufferMs(): number {
    return Number(this.#prebuffer.value);
  }

  /** Whether text goes out while it is typed. */
  get live(): boolean {
    return this.door === 'ws' && this.#live.checked;
  }

  offer(models: string[], voices: Voice[]): void {
    this.#voices = voices;
    fillSelect(this.#model, models);
    this.#offerVoices();
  }

  show(activity: Activity, hasTake: boolean): void {
    this.#activity = activity;
    this.#hasTake = hasTake;
    this.#enable();
  }

  /** Says what went wrong, or nothing. */
  showError(message: string | null): void {
    this.#error.hidden = message === null;
    this.#error.textContent = message ?? '';
  }

  #addSamples(): void {
    for (const { name, text } of SAMPLES) {
      const button = element('button', { type: 'button' }, name);
      button.addEventListener('click', () => {
        this.#text.value = text;
        this.#textChanged();
      });
      byId('samples', HTMLElement).append(button);
    }
    if (this.#text.value === '') this.#text.value = SAMPLES[0]!.text;
  }

  #listen(): void {
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      if (!this.#speak.disabled) this.#handlers.speak();
    });
    this.#stop.addEventListener('click', () => this.#handlers.stop());
    this.#again.addEventListener('click', () => this.#handlers.again());
    this.#save.addEventListener('click', () => this.#handlers.save());
    this.#text.addEventListener('input', () => this.#textChanged());
    this.#model.addEventListener('change', () => {
      this.#offerVoices();
      this.#handlers.modelChosen(this.#model.value);
    });
    this.#speed.addEventListener('input', () => this.#showSpeed());
    this.#form.addEventListener('change', () => {
      this.#enable();
      this.#handlers.changed();
    });
    document.addEventListener('keydown', (event) => {
      // What is on another tab is not meant.
      if (this.#form.offsetParent === null) return;
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        if (!this.#speak.disabled) this.#handlers.speak();
      } else if (event.key === 'Escape' && !this.#stop.disabled) {
        event.preventDefault();
        this.#handlers.stop();
      }
    });
  }

  #textChanged(): void {
    this.#showCount();
    this.#handlers.typed();
    this.#handlers.changed();
  }

  #showCount(): void {
    const characters = [...this.#text.value].length;
    this.#count.textContent = `${characters} character${characters === 1 ? '' : 's'}`;
  }

  #showSpeed(): void {
    const text = `${Number(this.#speed.value)}×`;
    this.#speedValue.textContent = text;
    this.#speed.setAttribute('aria-valuetext', text);
  }

  #offerVoices(): void {
    const model = this.#model.value;
    const fitting = this.#voices.filter((voice) => voice.model === null || voice.model === model);
    // An alias of a model has no voices of its own in the list: then all are offered.
    fillSelect(this.#voice, (fitting.length > 0 ? fitting : this.#voices).map((voice) => voice.id));
  }

  #enable(): void {
    const speaking = this.#activity === 'speaking';
    this.#speak.disabled = this.#activity === 'loading' || this.#activity === 'unavailable' || (speaking && !this.live);
    this.#speak.textContent = speaking && this.live ? 'Finish' : 'Speak';
    this.#stop.disabled = !speaking;
    this.#again.disabled = speaking || !this.#hasTake;
    this.#save.disabled = speaking || !this.#hasTake;
    for (const control of [this.#ws, this.#http, this.#model, this.#voice, this.#prebuffer]) control.disabled = speaking;
    this.#live.disabled = speaking || this.door !== 'ws';
  }
}

