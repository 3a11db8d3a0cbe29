// The transcript of a conversation: who said what, what of an answer has been heard, and what was
// cut.

import type { Conversation, Entry } from '../realtime/conversation.ts';
import { byId, element } from './dom.ts';

const NAMES = { user: 'You', assistant: 'Answer', note: '' } as const;

/** What stands where there is no text yet, or none to come. */
const WITHOUT_TEXT: Partial<Record<Entry['state'], string>> = {
  speaking: 'speaking…',
  writing: 'writing down…',
  answering: '…',
  unclear: 'not understood',
};

interface Line {
  item: HTMLLIElement;
  heard: HTMLSpanElement;
  rest: HTMLElement;
  tag: HTMLSpanElement;
  key: string;
}

export class Lines {
  readonly #root = byId('lines', HTMLOListElement);
  readonly #lines = new Map<string, Line>();
  #revision = -1;

  /** Shows `conversation`; of the item that is playing, `playing.ms` of its audio have been heard. */
  show(conversation: Conversation, playing: { itemId: string; ms: number } | null): void {
    if (conversation.revision !== this.#revision) {
      this.#revision = conversation.revision;
      this.#arrange(conversation.entries);
    }
    const follow = this.#atEnd();
    for (const entry of conversation.entries) {
      const heard = entry.id === playing?.itemId ? conversation.heardLength(entry.id, playing.ms) : null;
      this.#showEntry(entry, heard);
    }
    if (follow) this.#root.scrollTop = this.#root.scrollHeight;
  }

  #arrange(entries: readonly Entry[]): void {
    const ids = new Set(entries.map(({ id }) => id));
    for (const [id, { item }] of this.#lines) {
      if (ids.has(id)) continue;
      item.remove();
      this.#lines.delete(id);
    }
    entries.forEach((entry, index) => {
      const line = this.#lines.get(entry.id) ?? this.#make(entry);
      if (this.#root.children[index] !== line.item) this.#root.insertBefore(line.item, this.#root.children[index] ?? null);
    });
  }

  #make({ id, who }: Entry): Line {
    const heard = element('span', { class: 'heard' });
    const rest = element('span', { class: 'rest' });
    const tag = element('span', { class: 'tag' });
    const item = element('li', { class: who }, element('span', { class: 'who' }, NAMES[who]), element('p', {}, heard, rest, tag));
    const line = { item, heard, rest, tag, key: '' };
    this.#lines.set(id, line);
    return line;
  }

  #showEntry(entry: Entry, heard: number | null): void {
    const line = this.#lines.get(entry.id);
    if (line === undefined) return;
    const at = entry.kept ?? heard ?? entry.text.length;
    const key = `${entry.state}:${at}:${entry.text}`;
    if (key === line.key) return;
    line.key = key;
    line.item.dataset['state'] = entry.state;
    line.heard.textContent = entry.text.slice(0, at);
    this.#showRest(line, entry.text.slice(at), entry.state === 'cut');
    line.tag.textContent = tagOf(entry);
  }

  /** What follows is still to be heard, or was cut and never will be. */
  #showRest(line: Line, text: string, cut: boolean): void {
    const name = cut ? 'del' : 'span';
    if (line.rest.localName !== name) {
      const rest = element(name, { class: 'rest' });
      line.rest.replaceWith(rest);
      line.rest = rest;
    }
    line.rest.textContent = text;
  }

  #atEnd(): boolean {
    const { scrollTop, scrollHeight, clientHeight } = this.#root;
    return scrollHeight - scrollTop - clientHeight < 48;
  }
}

function tagOf({ state, text, cutMs }: Entry): string {
  if (state === 'cut') return `interrupted after ${((cutMs ?? 0) / 1000).toFixed(1)} s`;
  if (state === 'failed') return 'broken off';
  return text === '' ? (WITHOUT_TEXT[state] ?? '') : '';
}
