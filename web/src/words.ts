// Which word of the text is spoken at a moment: words in order of their time, each with its place
// in the text.
//
// A server that states the place of a word in the text is believed. Otherwise the word is looked
// for in the text, from the last found one on; a word that is spoken otherwise than it is written
// ("$5", "five dollars") then has no place, and the highlight rests.

import type { Word } from './protocol.ts';

/** Words kept at most: an hour of fast speech. */
const MAX_WORDS = 20_000;

export interface PlacedWord {
  text: string;
  /** Seconds from the start of the audio. */
  start: number;
  end: number;
  /** Half-open range of UTF-16 units of the text, or null. */
  range: readonly [number, number] | null;
}

export class WordTimeline {
  readonly #words: PlacedWord[] = [];
  #text: string;
  #searchFrom = 0;
  /** A place in the text, counted both ways, so that each word counts on from the last. */
  #scalars = 0;
  #units = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get text(): string {
    return this.#text;
  }

  get words(): readonly PlacedWord[] {
    return this.#words;
  }

  /** The text has grown at its end. */
  extend(text: string): void {
    this.#text += text;
  }

  append(words: readonly Word[]): void {
    for (const word of words) {
      if (this.#words.length === MAX_WORDS) return;
      this.#words.push({ text: word.text, start: word.start, end: word.end, range: this.#place(word) });
    }
  }

  /** Index of the word that is spoken at `seconds`: the last one that has begun; -1 before the first. */
  indexAt(seconds: number): number {
    let low = 0;
    let high = this.#words.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#words[middle]!.start <= seconds) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  #place(word: Word): readonly [number, number] | null {
    if (word.source !== null) {
      return [this.#unitFromScalar(word.source[0]), this.#unitFromScalar(word.source[1])];
    }
    const needle = word.text.trim().toLowerCase();
    if (needle === '') return null;
    const at = this.#text.toLowerCase().indexOf(needle, this.#searchFrom);
    if (at < 0) return null;
    this.#searchFrom = at + needle.length;
    return [at, this.#searchFrom];
  }

  /** Index in UTF-16 units of the `scalar`-th character of the text, cut to its length. */
  #unitFromScalar(scalar: number): number {
    if (scalar < this.#scalars) {
      this.#scalars = 0;
      this.#units = 0;
    }
    while (this.#scalars < scalar && this.#units < this.#text.length) {
      this.#units += this.#text.codePointAt(this.#units)! > 0xffff ? 2 : 1;
      this.#scalars += 1;
    }
    return this.#units;
  }
}
