// How long each turn took and where the time went: a waterfall of one turn, and all turns as bars
// to choose from.

import { formatMs } from '../figures.ts';
import { responseMs, responseQuantile, timeline, type Mark, type Turn, type Turns } from '../realtime/turns.ts';
import { byId, element } from './dom.ts';

const NAMES: Record<Mark, string> = {
  stopped: 'End of turn noticed',
  transcribed: 'Words written down',
  created: 'Answer begun',
  text: 'First words',
  audio: 'First audio here',
  heard: 'First sound heard',
};

/** Turns shown as bars. */
const SHOWN = 24;
/** A bar of full height stands for the slowest turn, or for this. */
const FULL_MS = 800;

interface Row {
  name: string;
  fromMs: number;
  toMs: number;
  kind: 'page' | 'server';
}

export class Waterfall {
  readonly #root = byId('waterfall', HTMLElement);
  readonly #turns = byId('turns', HTMLOListElement);
  readonly #note = byId('turn-note', HTMLElement);
  #revision = -1;
  /** Null: the last one. */
  #chosen: Turn | null = null;
  #shown: Turns | null = null;

  show(turns: Turns): void {
    if (turns.revision === this.#revision) return;
    this.#revision = turns.revision;
    this.#shown = turns;
    this.#draw();
  }

  #draw(): void {
    const all = this.#shown?.all ?? [];
    const turn = this.#chosen !== null && all.includes(this.#chosen) ? this.#chosen : all.at(-1);
    const fullMs = Math.max(FULL_MS, responseQuantile(all, 1) ?? 0);
    this.#turns.replaceChildren(...all.slice(-SHOWN).map((each) => this.#bar(each, each === turn, all.indexOf(each) + 1, fullMs)));
    this.#turns.hidden = all.length < 2;
    if (turn === undefined) {
      this.#note.textContent = '';
      this.#root.replaceChildren(element('p', { class: 'hint' }, 'After your first turn, its times stand here.'));
      return;
    }
    this.#note.textContent = `turn ${all.indexOf(turn) + 1}${{ speech: '', text: ', typed', button: ', by button' }[turn.by]}`;
    this.#root.replaceChildren(...this.#rows(turn));
  }

  #rows(turn: Turn): HTMLElement[] {
    const rows = rowsOf(turn);
    const whole = Math.max(1, ...rows.map(({ toMs }) => toMs));
    const drawn = rows.map(({ name, fromMs, toMs, kind }) => {
      const bar = element('span', { class: `bar ${kind}` });
      bar.style.setProperty('--from', `${(100 * fromMs) / whole}%`);
      bar.style.setProperty('--size', `${(100 * (toMs - fromMs)) / whole}%`);
      return element('div', { class: 'step' }, element('span', { class: 'name' }, name), element('span', { class: 'track' }, bar), element('span', { class: 'ms' }, formatMs(toMs)));
    });
    const silenced = turn.silencedMs === null ? [] : [element('p', { class: 'hint' }, `You interrupted it; it was silent after ${formatMs(turn.silencedMs)}.`)];
    return [...drawn, ...silenced];
  }

  #bar(turn: Turn, current: boolean, number: number, fullMs: number): HTMLLIElement {
    const ms = responseMs(turn);
    const said = ms === null ? 'nothing heard' : formatMs(ms);
    const button = element('button', { type: 'button', 'aria-label': `Turn ${number}: ${said}`, title: said, 'aria-pressed': String(current) });
    button.style.setProperty('--size', `${Math.max(6, Math.min(100, (100 * (ms ?? 0)) / fullMs))}%`);
    button.addEventListener('click', () => {
      this.#chosen = turn;
      this.#draw();
    });
    return element('li', {}, button);
  }
}

/** Each mark from the one before it; and what the server measured, likewise. */
function rowsOf(turn: Turn): Row[] {
  const rows: Row[] = [];
  let fromMs = 0;
  for (const { mark, ms } of timeline(turn)) {
    rows.push({ name: NAMES[mark], fromMs, toMs: ms, kind: 'page' });
    fromMs = ms;
  }
  fromMs = 0;
  for (const { name, ms } of turn.stages) {
    rows.push({ name: `server: ${name}`, fromMs: Math.min(fromMs, ms), toMs: ms, kind: 'server' });
    fromMs = ms;
  }
  return rows;
}
