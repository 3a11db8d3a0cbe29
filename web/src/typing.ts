// Text that goes out while it is typed: what may be sent, and what was.
//
// What was sent is spoken and cannot be taken back, so only text that goes on from it is sent. A
// word goes out once something follows it, since half a word would be spoken as one.

export class Typing {
  #sent = '';

  get sent(): string {
    return this.#sent;
  }

  /** What can go out of `text` now, or null if what was sent has been changed in it. */
  next(text: string): string | null {
    if (!text.startsWith(this.#sent)) return null;
    const ready = text.slice(this.#sent.length).match(/^[\s\S]*\s/)?.[0] ?? '';
    this.#sent += ready;
    return ready;
  }

  /** What is left of `text` when it is complete; "" if what was sent has been changed in it. */
  rest(text: string): string {
    if (!text.startsWith(this.#sent)) return '';
    const rest = text.slice(this.#sent.length);
    this.#sent = text;
    return rest;
  }
}
