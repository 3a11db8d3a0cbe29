// The figures of a conversation as a whole.

import { formatMs } from '../figures.ts';
import type { Stalls } from '../realtime/playing.ts';
import { responseQuantile, type Turns } from '../realtime/turns.ts';
import { byId, element } from './dom.ts';

const NAMES = {
  median: ['Median', 'half of the answers were heard sooner than this after your last word'],
  slowest: ['Slowest', 'from your last word to the first sound of the answer'],
  stalls: ['Stalls', 'times that an answer ran dry while more of it was to come, and for how long altogether'],
  buffer: ['Prebuffer', 'audio that is waited for before an answer is played; grows with stalls, shrinks without'],
} as const;

type Name = keyof typeof NAMES;

export class TalkFigures {
  readonly #values: Record<Name, HTMLElement>;

  constructor() {
    const list = byId('talk-figures', HTMLDListElement);
    const values: Partial<Record<Name, HTMLElement>> = {};
    for (const [name, [label, meaning]] of Object.entries(NAMES)) {
      const value = element('dd', { 'data-talk-figure': name });
      values[name as Name] = value;
      list.append(element('div', { title: meaning }, element('dt', {}, label), value));
    }
    this.#values = values as Record<Name, HTMLElement>;
  }

  /** `prebufferMs` is null where the browser does the buffering. */
  show(turns: Turns, stalls: Stalls, prebufferMs: number | null): void {
    this.#set('median', formatMs(responseQuantile(turns.all, 0.5)), responseQuantile(turns.all, 0.5));
    this.#set('slowest', formatMs(responseQuantile(turns.all, 1)), responseQuantile(turns.all, 1));
    this.#set('stalls', stalls.count === 0 ? '0' : `${stalls.count} · ${formatMs(stalls.ms)}`, stalls.count);
    this.#set('buffer', prebufferMs === null ? 'auto' : formatMs(prebufferMs), prebufferMs);
    this.#values.stalls.parentElement!.className = stalls.count > 0 ? 'bad' : '';
  }

  #set(name: Name, text: string, value: number | null): void {
    const shown = this.#values[name];
    if (shown.textContent !== text) shown.textContent = text;
    shown.dataset['value'] = String(value ?? '');
  }
}
