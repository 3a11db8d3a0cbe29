// The controls of a conversation, its state in words, and the keys.

import { byId } from './dom.ts';

export interface TalkHandlers {
  connect(): void;
  retry(): void;
  mute(): void;
  stop(): void;
  say(text: string): void;
  press(): void;
  release(): void;
}

/** What the view shows of a conversation. */
export interface TalkShown {
  /** `off`: cannot be started; `idle`, `opening`, `talking`, `waiting` as the conversation has it. */
  state: 'off' | 'idle' | 'opening' | 'talking' | 'waiting';
  title: string;
  detail: string;
  notice: string | null;
  microphone: boolean;
  muted: boolean;
  push: boolean;
  held: boolean;
  answering: boolean;
}

export class TalkView {
  readonly #card = byId('talk-card', HTMLElement);
  readonly #title = byId('talk-state', HTMLElement);
  readonly #detail = byId('talk-detail', HTMLElement);
  readonly #error = byId('talk-error', HTMLElement);
  readonly #connect = byId('talk-connect', HTMLButtonElement);
  readonly #push = byId('talk-push', HTMLButtonElement);
  readonly #mute = byId('talk-mute', HTMLButtonElement);
  readonly #stop = byId('talk-stop', HTMLButtonElement);
  readonly #retry = byId('talk-retry', HTMLButtonElement);
  readonly #say = byId('say', HTMLFormElement);
  readonly #text = byId('say-text', HTMLInputElement);
  readonly #send = byId('say-send', HTMLButtonElement);
  readonly #keysPush = byId('talk-keys-push', HTMLElement);
  readonly #handlers: TalkHandlers;

  constructor(handlers: TalkHandlers) {
    this.#handlers = handlers;
    this.#connect.addEventListener('click', () => handlers.connect());
    this.#retry.addEventListener('click', () => handlers.retry());
    this.#mute.addEventListener('click', () => handlers.mute());
    this.#stop.addEventListener('click', () => handlers.stop());
    this.#say.addEventListener('submit', (event) => {
      event.preventDefault();
      const text = this.#text.value.trim();
      if (text === '' || this.#send.disabled) return;
      this.#text.value = '';
      handlers.say(text);
    });
    this.#listenToPush();
    document.addEventListener('keydown', (event) => this.#keyDown(event));
    document.addEventListener('keyup', (event) => {
      if (event.code === 'Space') this.#handlers.release();
    });
    // A key or a finger that is let go elsewhere is let go all the same.
    addEventListener('blur', () => this.#handlers.release());
  }

  show(shown: TalkShown): void {
    const talking = shown.state === 'talking';
    const running = talking || shown.state === 'opening' || shown.state === 'waiting';
    this.#card.dataset['state'] = shown.state;
    setText(this.#title, shown.title);
    setText(this.#detail, shown.detail);
    setText(this.#error, shown.notice ?? '');
    this.#error.hidden = shown.notice === null;
    setText(this.#connect, running ? 'Hang up' : 'Start talking');
    this.#connect.disabled = shown.state === 'off';
    this.#connect.classList.toggle('primary', !running);
    this.#push.hidden = !shown.push;
    this.#keysPush.hidden = !shown.push;
    this.#push.disabled = !talking || !shown.microphone;
    this.#push.setAttribute('aria-pressed', String(shown.held));
    setText(this.#push, shown.held ? 'Let go to send' : 'Hold to talk');
    this.#mute.disabled = !running || !shown.microphone;
    this.#mute.setAttribute('aria-pressed', String(shown.muted));
    setText(this.#mute, shown.muted ? 'Unmute' : 'Mute');
    this.#stop.disabled = !talking || !shown.answering;
    this.#retry.hidden = shown.state !== 'waiting';
    this.#send.disabled = !talking;
  }

  #listenToPush(): void {
    this.#push.addEventListener('pointerdown', (event) => {
      this.#push.setPointerCapture(event.pointerId);
      this.#handlers.press();
    });
    for (const name of ['pointerup', 'pointercancel', 'lostpointercapture'] as const) {
      this.#push.addEventListener(name, () => this.#handlers.release());
    }
    this.#push.addEventListener('contextmenu', (event) => event.preventDefault());
  }

  #keyDown(event: KeyboardEvent): void {
    // What is on another tab, or is being typed, is not meant.
    if (this.#card.offsetParent === null || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Escape' && !this.#stop.disabled) {
      event.preventDefault();
      this.#handlers.stop();
      return;
    }
    if (event.code === 'Space') this.#spaceDown(event);
    else if (event.key.toLowerCase() === 'm' && !this.#mute.disabled && !event.repeat && !takes(LETTERS, event.target)) {
      this.#handlers.mute();
    }
  }

  #spaceDown(event: KeyboardEvent): void {
    if (this.#push.hidden || this.#push.disabled) return;
    if (event.target !== this.#push && takes(SPACE, event.target)) return;
    event.preventDefault();
    if (!event.repeat) this.#handlers.press();
  }
}

/** What letters belong to: where one types, or chooses by typing. */
const LETTERS = 'input:not([type=range], [type=checkbox], [type=radio]), textarea, select, [contenteditable]';
/** What the space bar belongs to: the same, and whatever it presses. */
const SPACE = 'input, textarea, select, button, summary, [contenteditable]';

function takes(keys: string, target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest(keys) !== null;
}

function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
