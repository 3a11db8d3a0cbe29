// What was said, by whom, and how much of it was heard: the transcript as a state machine.
//
// Entries stand in the order of the conversation, which the server gives by `previous_item_id`. A
// user's entry begins when speech begins, and goes away if nothing comes of it. An assistant's is
// cut where it was interrupted: first where the page thinks that it was, then where the server
// says, which drops the text that was not heard.
//
//   user:       speaking ──committed──▶ writing ──completed──▶ said | unclear
//   assistant:  answering ──done──▶ said        any ──truncated──▶ cut

import type { Item, ServerEvent } from './events.ts';
import { HeardText } from './heard.ts';

export type EntryState = 'speaking' | 'writing' | 'answering' | 'said' | 'unclear' | 'cut' | 'failed';

export interface Entry {
  id: string;
  who: 'user' | 'assistant' | 'note';
  state: EntryState;
  text: string;
  /** Length of the text that was heard; what follows it was cut. Null: nothing was cut. */
  kept: number | null;
  /** How much audio was heard before the cut. */
  cutMs: number | null;
}

/** Entries kept; the oldest go first. */
const MAX_ENTRIES = 400;
/** Characters of one entry; a server that sends more is broken. */
const MAX_CHARS = 100_000;

export class Conversation {
  #entries: Entry[] = [];
  readonly #heard = new Map<string, HeardText>();
  /** Changes with every change of an entry. */
  revision = 0;

  get entries(): readonly Entry[] {
    return this.#entries;
  }

  find(id: string): Entry | undefined {
    return this.#entries.find((entry) => entry.id === id);
  }

  /** Takes in an event; those that say nothing of the transcript do nothing. */
  handle(event: ServerEvent): void {
    switch (event.type) {
      case 'input_audio_buffer.speech_started':
        this.#dropUnheard(event.itemId);
        this.#ensure(event.itemId, 'user', 'speaking', null);
        break;
      case 'input_audio_buffer.speech_stopped':
      case 'input_audio_buffer.committed':
        this.#committed(event.itemId, 'previousItemId' in event ? event.previousItemId : null);
        break;
      case 'conversation.item.added':
      case 'conversation.item.done':
        this.#added(event.item, event.previousItemId);
        break;
      case 'conversation.item.retrieved':
        this.#retrieved(event.item);
        break;
      case 'conversation.item.deleted':
        this.#remove(event.itemId);
        break;
      case 'conversation.item.truncated':
        this.cut(event.itemId, event.audioEndMs);
        break;
      case 'transcription.delta':
        this.#update(event.itemId, 'user', (entry) => (entry.text = bounded(entry.text + event.text)));
        break;
      case 'transcription.completed':
        this.#update(event.itemId, 'user', (entry) => {
          entry.text = bounded(event.text.trim());
          entry.state = entry.text === '' ? 'unclear' : 'said';
        });
        break;
      case 'transcription.failed':
        this.#update(event.itemId, 'user', (entry) => (entry.state = 'unclear'));
        break;
      case 'response.text.delta':
        this.#answered(event.itemId, (heard) => heard.appendText(event.text));
        break;
      case 'response.text.done':
        this.#answered(event.itemId, (heard) => event.text !== '' && heard.setText(event.text));
        break;
      case 'response.audio.delta':
        this.#heardOf(event.itemId).appendAudio(event.bytes.length / 48);
        break;
      case 'response.audio.done':
        this.#heardOf(event.itemId).complete();
        break;
      case 'response.done':
        this.#responseDone(event.response.status);
        break;
    }
  }

  /** The page has cut an answer after `heardMs` of its audio. */
  cut(itemId: string, heardMs: number): void {
    const entry = this.find(itemId);
    if (entry === undefined || entry.who !== 'assistant' || entry.cutMs === heardMs) return;
    entry.kept = this.#heardOf(itemId).lengthAt(heardMs);
    entry.cutMs = heardMs;
    entry.state = 'cut';
    this.revision += 1;
  }

  /** Length of the answer's text that has been heard at `ms` of its audio. */
  heardLength(itemId: string, ms: number): number {
    return this.#heard.get(itemId)?.lengthAt(ms) ?? 0;
  }

  /** A line that nobody said. */
  note(text: string): void {
    this.#insert({ id: `note-${this.revision}`, who: 'note', state: 'said', text, kept: null, cutMs: null }, null);
  }

  /** What was said so far, to be told to a session that begins anew; the last `count` entries. */
  past(count: number): { role: 'user' | 'assistant'; text: string }[] {
    return this.#entries
      .flatMap(({ who, text, kept }) => {
        const said = text.slice(0, kept ?? undefined).trim();
        return who === 'note' || said === '' ? [] : [{ role: who, text: said }];
      })
      .slice(-count);
  }

  /** The session is over: what was on its way does not come. */
  handleLost(): void {
    for (const entry of this.#entries) {
      if (entry.state === 'answering') entry.state = 'failed';
      if (entry.state === 'speaking' || entry.state === 'writing') entry.state = 'unclear';
    }
    this.#entries = this.#entries.filter((entry) => entry.text !== '');
    this.#heard.clear();
    this.revision += 1;
  }

  clear(): void {
    this.#entries = [];
    this.#heard.clear();
    this.revision += 1;
  }

  #added(item: Item, previousItemId: string | null): void {
    if (item.kind !== 'message' || item.role === 'system' || item.role === null) return;
    const known = this.find(item.id);
    if (known === undefined) {
      // A user's item with text was typed; one without waits for its transcript.
      const state = item.role === 'assistant' ? 'answering' : item.text === null ? 'writing' : 'said';
      this.#ensure(item.id, item.role, state, previousItemId);
    }
    if (item.text !== null && item.role === 'user') this.#update(item.id, 'user', (entry) => (entry.text = bounded(item.text!)));
  }

  #committed(id: string, previousItemId: string | null): void {
    this.#ensure(id, 'user', 'writing', previousItemId);
    this.#update(id, 'user', (entry) => {
      if (entry.state === 'speaking') entry.state = 'writing';
    });
  }

  /** After a cut, the server tells how much of the text it kept. */
  #retrieved(item: Item): void {
    const entry = this.find(item.id);
    if (entry?.state !== 'cut' || item.text === null) return;
    const kept = item.text.trim();
    if (!entry.text.startsWith(kept)) return;
    entry.kept = kept.length;
    this.revision += 1;
  }

  #answered(itemId: string, change: (heard: HeardText) => unknown): void {
    const heard = this.#heardOf(itemId);
    change(heard);
    this.#ensure(itemId, 'assistant', 'answering', null);
    this.#update(itemId, 'assistant', (entry) => {
      entry.text = bounded(heard.text);
      // Text may come after the cut; how much of it was heard does not change by it.
      if (entry.cutMs !== null && entry.kept !== null) entry.kept = Math.min(entry.kept, entry.text.length);
    });
  }

  #responseDone(status: string): void {
    const last = this.#entries.findLast((entry) => entry.who === 'assistant');
    if (last?.state !== 'answering') return;
    last.state = status === 'failed' ? 'failed' : 'said';
    this.#heardOf(last.id).complete();
    if (last.text === '') this.#remove(last.id);
    this.revision += 1;
  }

  /** Speech that came to nothing leaves no entry. */
  #dropUnheard(newId: string): void {
    for (const entry of this.#entries) {
      if (entry.state === 'speaking' && entry.text === '' && entry.id !== newId) this.#remove(entry.id);
    }
  }

  #heardOf(id: string): HeardText {
    let heard = this.#heard.get(id);
    if (heard === undefined) {
      heard = new HeardText();
      this.#heard.set(id, heard);
    }
    return heard;
  }

  #ensure(id: string, who: 'user' | 'assistant', state: EntryState, previousItemId: string | null): void {
    if (this.find(id) !== undefined) return;
    this.#insert({ id, who, state, text: '', kept: null, cutMs: null }, previousItemId);
  }

  #insert(entry: Entry, previousItemId: string | null): void {
    const after = this.#entries.findIndex(({ id }) => id === previousItemId);
    if (after < 0) this.#entries.push(entry);
    else this.#entries.splice(after + 1, 0, entry);
    while (this.#entries.length > MAX_ENTRIES) this.#remove(this.#entries[0]!.id);
    this.revision += 1;
  }

  #update(id: string, who: 'user' | 'assistant', change: (entry: Entry) => void): void {
    const entry = this.find(id);
    if (entry?.who !== who) return;
    change(entry);
    this.revision += 1;
  }

  #remove(id: string): void {
    this.#entries = this.#entries.filter((entry) => entry.id !== id);
    this.#heard.delete(id);
    this.revision += 1;
  }
}

function bounded(text: string): string {
  return text.length > MAX_CHARS ? text.slice(0, MAX_CHARS) : text;
}
