// How much of an answer's text has been heard at a moment of its audio.
//
// A server sends text and audio of an answer side by side, without saying which belongs to which.
// While both arrive, the pace is taken from what has come of each so far; once all audio is there,
// from the whole of it. Text usually runs ahead of its audio, so while audio is still to come the
// estimate uses the characters a second that speech has on average, and never more than there are.

/** Characters that are spoken in a second, about: 150 words a minute of 6 characters. */
const CHARS_PER_SECOND = 15;

export class HeardText {
  #text = '';
  #audioMs = 0;
  #complete = false;

  get text(): string {
    return this.#text;
  }

  appendText(text: string): void {
    this.#text += text;
  }

  setText(text: string): void {
    this.#text = text;
  }

  /** `ms` more of audio have come. */
  appendAudio(ms: number): void {
    this.#audioMs += ms;
  }

  /** No more audio comes. */
  complete(): void {
    this.#complete = true;
  }

  /** Length of the text that has been heard at `ms` of the audio; always between two words. */
  lengthAt(ms: number): number {
    if (ms <= 0) return 0;
    const whole = this.#text.length;
    if (this.#complete && this.#audioMs > 0) return wordEnd(this.#text, (whole * ms) / this.#audioMs);
    const rate = Math.min(CHARS_PER_SECOND, this.#audioMs > 0 ? (whole * 1000) / this.#audioMs : CHARS_PER_SECOND);
    return wordEnd(this.#text, (rate * ms) / 1000);
  }
}

/** The end of the word that `at` stands in; a word begun has been heard. */
function wordEnd(text: string, at: number): number {
  if (at >= text.length) return text.length;
  const start = Math.max(0, Math.floor(at));
  // At a gap, the word before it is the last one heard.
  if (/\s/.test(text[start]!)) return start;
  const rest = text.slice(start).search(/\s/);
  return rest < 0 ? text.length : start + rest;
}
