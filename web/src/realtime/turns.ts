// How long an answer takes, turn by turn, by the page's own clock: from the end of what the user
// said to the first sound that is heard, with what happened between.
//
//   speech ends ─▶ turn taken ─▶ words written ─▶ answer begins ─▶ first words ─▶ first audio ─▶ heard
//
// Stages that a server does not show are left out. What the server itself measured stands beside.

import type { ServerEvent, Stage } from './events.ts';

export type Mark = 'stopped' | 'transcribed' | 'created' | 'text' | 'audio' | 'heard';

/** In the order in which they are drawn where two come at once. */
export const MARKS: readonly Mark[] = ['stopped', 'transcribed', 'created', 'text', 'audio', 'heard'];

export interface Turn {
  /** What the user did last: spoke, typed, or let go of the button. */
  by: 'speech' | 'text' | 'button';
  /** Page time of the end of it. */
  startMs: number;
  /** Page times. */
  marks: Partial<Record<Mark, number>>;
  /** Stages by the server's clock, from the end of speech. */
  stages: Stage[];
  /** From the beginning of the speech that interrupted the answer to silence; null: not interrupted. */
  silencedMs: number | null;
}

const MAX_TURNS = 100;

export class Turns {
  #turns: Turn[] = [];
  /** Changes with every change of a turn. */
  revision = 0;

  get all(): readonly Turn[] {
    return this.#turns;
  }

  get last(): Turn | undefined {
    return this.#turns.at(-1);
  }

  /** `speechEndMs` is when the microphone was loud last; null where nobody listened. */
  handle(event: ServerEvent, nowMs: number, speechEndMs: number | null): void {
    switch (event.type) {
      case 'input_audio_buffer.speech_stopped':
        this.#begin('speech', Math.min(speechEndMs ?? nowMs, nowMs));
        this.#mark('stopped', nowMs);
        break;
      case 'transcription.completed':
        this.#mark('transcribed', nowMs);
        break;
      case 'response.created':
        this.#mark('created', nowMs);
        break;
      case 'response.text.delta':
        this.#mark('text', nowMs);
        break;
      case 'response.audio.delta':
      case 'output_audio_buffer.started':
        this.#mark('audio', nowMs);
        break;
      case 'turn.timing':
        this.#timed(event.stages);
        break;
    }
  }

  /** The user has typed something or let go of the button. */
  handleSent(by: 'text' | 'button', nowMs: number): void {
    this.#begin(by, nowMs);
  }

  /** The first sound of the answer was heard. */
  handleHeard(atMs: number): void {
    this.#mark('heard', atMs);
  }

  /** The answer was interrupted and is silent `ms` after the interruption began. */
  handleSilenced(ms: number): void {
    const { last } = this;
    if (last === undefined || last.silencedMs !== null) return;
    last.silencedMs = Math.max(0, ms);
    this.revision += 1;
  }

  clear(): void {
    this.#turns = [];
    this.revision += 1;
  }

  #begin(by: Turn['by'], startMs: number): void {
    const { last } = this;
    // Speech that goes on after a pause is the same turn as long as no answer has come.
    if (last !== undefined && last.marks.created === undefined) this.#turns.pop();
    this.#turns.push({ by, startMs, marks: {}, stages: [], silencedMs: null });
    if (this.#turns.length > MAX_TURNS) this.#turns.shift();
    this.revision += 1;
  }

  #mark(mark: Mark, nowMs: number): void {
    const { last } = this;
    if (last === undefined || last.marks[mark] !== undefined) return;
    last.marks[mark] = nowMs;
    this.revision += 1;
  }

  #timed(stages: Stage[]): void {
    if (this.last === undefined) return;
    this.last.stages = stages.slice(0, 20);
    this.revision += 1;
  }
}

/** From the end of what the user said to the first sound; null while nothing was heard. */
export function responseMs(turn: Turn): number | null {
  return turn.marks.heard === undefined ? null : turn.marks.heard - turn.startMs;
}

/** The marks of a turn in the order of time, in milliseconds from its start. */
export function timeline(turn: Turn): { mark: Mark; ms: number }[] {
  return MARKS.flatMap((mark) => {
    const at = turn.marks[mark];
    return at === undefined ? [] : [{ mark, ms: Math.max(0, at - turn.startMs) }];
  }).sort((a, b) => a.ms - b.ms);
}

/** The `share`-th of the response times: 0.5 is the median; null without any. */
export function responseQuantile(turns: readonly Turn[], share: number): number | null {
  const times = turns.flatMap((turn) => responseMs(turn) ?? []).sort((a, b) => a - b);
  return times.length === 0 ? null : times[Math.min(times.length - 1, Math.floor(share * times.length))]!;
}
