// The settings of a conversation as a form; what is chosen is kept for the next visit.

import type { Voice } from '../protocol.ts';
import { DEFAULTS, parseSettings, type Eagerness, type TalkSettings, type TurnTaking } from '../realtime/settings.ts';
import { byId, fillSelect } from './dom.ts';

const KEPT = 'promenade-talk';
const DEFAULT_VOICE = { value: '', name: 'as the server has it' };

export class TalkForm {
  readonly #form = byId('talk-settings', HTMLFormElement);
  readonly #webrtc = byId('link-webrtc', HTMLInputElement);
  readonly #ws = byId('link-ws', HTMLInputElement);
  readonly #device = byId('talk-device', HTMLSelectElement);
  readonly #model = byId('talk-model', HTMLSelectElement);
  readonly #voice = byId('talk-voice', HTMLSelectElement);
  readonly #turns = byId('talk-turns', HTMLSelectElement);
  readonly #idle = byId('talk-idle', HTMLSelectElement);
  readonly #eagerness = byId('talk-eagerness', HTMLSelectElement);
  readonly #interrupts = byId('talk-interrupts', HTMLInputElement);
  readonly #clean = byId('talk-clean', HTMLInputElement);
  readonly #instructions = byId('talk-instructions', HTMLTextAreaElement);
  readonly #ranges = {
    speed: range('talk-speed', (value) => `${value}×`),
    silenceMs: range('talk-silence', (value) => `${value} ms`),
    prefixMs: range('talk-prefix', (value) => `${value} ms`),
    threshold: range('talk-threshold', (value) => value.toFixed(2)),
  };

  /** `changed` is called when settings are other ones; `microphoneChosen` when those of the microphone are. */
  constructor(handlers: { changed(): void; microphoneChosen(): void }) {
    this.#write(parseSettings(kept()));
    // On a phone, what is said comes first.
    if (matchMedia('(max-width: 860px)').matches) byId('talk-settings-card', HTMLDetailsElement).open = false;
    this.#form.addEventListener('submit', (event) => event.preventDefault());
    this.#form.addEventListener('input', () => this.#show());
    this.#form.addEventListener('change', (event) => {
      keep(JSON.stringify(this.settings));
      if (event.target === this.#device || event.target === this.#clean) handlers.microphoneChosen();
      else handlers.changed();
    });
  }

  get settings(): TalkSettings {
    return {
      link: this.#webrtc.checked ? 'webrtc' : 'ws',
      voice: this.#voice.value,
      speed: this.#ranges.speed.value,
      instructions: this.#instructions.value,
      turns: this.#turns.value as TurnTaking,
      threshold: this.#ranges.threshold.value,
      prefixMs: this.#ranges.prefixMs.value,
      silenceMs: this.#ranges.silenceMs.value,
      idleMs: Number(this.#idle.value),
      eagerness: this.#eagerness.value as Eagerness,
      interrupts: this.#interrupts.checked,
      clean: this.#clean.checked,
    };
  }

  get device(): string {
    return this.#device.value;
  }

  get model(): string {
    return this.#model.value;
  }

  offer(models: string[], voices: Voice[]): void {
    fillSelect(this.#model, models);
    byId('talk-model-field', HTMLElement).hidden = models.length < 2;
    const wanted = parseSettings(kept()).voice;
    fillSelect(this.#voice, [DEFAULT_VOICE, ...[...new Set(voices.map(({ id }) => id))].map((id) => ({ value: id, name: id }))]);
    if (voices.some(({ id }) => id === wanted)) this.#voice.value = wanted;
  }

  offerDevices(devices: { id: string; name: string }[]): void {
    fillSelect(this.#device, [{ value: '', name: 'the usual one' }, ...devices.map(({ id, name }) => ({ value: id, name }))]);
  }

  /** While a conversation runs, what it runs on cannot change. */
  show(running: boolean, voiceFrozen: boolean): void {
    for (const control of [this.#ws, this.#webrtc, this.#model]) control.disabled = running;
    this.#voice.disabled = running && voiceFrozen;
  }

  #write(settings: TalkSettings): void {
    this.#webrtc.checked = settings.link === 'webrtc';
    this.#ws.checked = settings.link === 'ws';
    this.#turns.value = settings.turns;
    this.#eagerness.value = settings.eagerness;
    this.#interrupts.checked = settings.interrupts;
    this.#clean.checked = settings.clean;
    this.#instructions.value = settings.instructions;
    this.#idle.value = String(settings.idleMs);
    if (this.#idle.value === '') this.#idle.value = String(DEFAULTS.idleMs);
    const { speed, silenceMs, prefixMs, threshold } = this.#ranges;
    speed.value = settings.speed;
    silenceMs.value = settings.silenceMs;
    prefixMs.value = settings.prefixMs;
    threshold.value = settings.threshold;
    this.offer([], []);
    this.offerDevices([]);
    this.#show();
  }

  #show(): void {
    for (const control of Object.values(this.#ranges)) control.show();
    for (const field of this.#form.querySelectorAll<HTMLElement>('[data-turns]')) {
      field.hidden = !field.dataset['turns']!.split(' ').includes(this.#turns.value);
    }
  }
}

/** A range with its value in words beside it. */
function range(id: string, words: (value: number) => string) {
  const input = byId(id, HTMLInputElement);
  const output = byId(`${id}-value`, HTMLOutputElement);
  return {
    get value(): number {
      return Number(input.value);
    },
    set value(value: number) {
      input.value = String(value);
    },
    show(): void {
      const text = words(Number(input.value));
      output.textContent = text;
      input.setAttribute('aria-valuetext', text);
    },
  };
}

/** Storage may be forbidden; then settings live until the page is left. */
function kept(): string | null {
  try {
    return localStorage.getItem(KEPT);
  } catch {
    return null;
  }
}

function keep(settings: string): void {
  try {
    localStorage.setItem(KEPT, settings);
  } catch {
    // As above.
  }
}
