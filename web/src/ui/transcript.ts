// The text as it is spoken: what has been said, the word that is said now, what is still to come.

import type { WordTimeline } from '../words.ts';
import { byId, element } from './dom.ts';

export class Transcript {
  readonly #root = byId('transcript', HTMLElement);
  readonly #said = element('span', { class: 'said' });
  readonly #now = element('mark', { class: 'now' });
  readonly #rest = element('span');
  #shown = '';

  clear(): void {
    this.#root.replaceChildren();
    this.#shown = '';
  }

  /** Shows the text of `words` at `seconds` of the audio. */
  show(words: WordTimeline, seconds: number): void {
    const [start, end] = spokenRange(words, seconds);
    const key = `${start}:${end}:${words.text.length}`;
    if (key === this.#shown) return;
    this.#shown = key;
    const { text } = words;
    this.#said.textContent = text.slice(0, start);
    this.#now.textContent = text.slice(start, end);
    this.#rest.textContent = text.slice(end);
    this.#root.replaceChildren(this.#said, ...(start < end ? [this.#now] : []), this.#rest);
    this.#follow();
  }

  #follow(): void {
    if (!this.#now.isConnected) return;
    const top = this.#now.offsetTop;
    const { scrollTop, clientHeight } = this.#root;
    if (top < scrollTop || top + this.#now.offsetHeight > scrollTop + clientHeight) {
      this.#root.scrollTop = top - clientHeight / 3;
    }
  }
}

/** The range of the text that is spoken; empty at the end of what has been said between words. */
function spokenRange(words: WordTimeline, seconds: number): readonly [number, number] {
  for (let index = words.indexAt(seconds); index >= 0; index--) {
    const word = words.words[index]!;
    if (word.range === null) continue;
    // A short gap after a word still shows it, so that the mark does not flicker.
    return seconds < word.end + 0.25 ? word.range : [word.range[1], word.range[1]];
  }
  return [0, 0];
}
