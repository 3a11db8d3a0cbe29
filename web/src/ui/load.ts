// What the server does, as tiles, two tables and bars of pages.

import { formatMs, formatRatio } from '../figures.ts';
import type { MetricsWindow } from '../metrics/window.ts';
import { byId, element, svg } from './dom.ts';

const P = 'promenade_';

interface Tile {
  key: string;
  name: string;
  meaning: string;
  value(window: MetricsWindow): number | null;
  text(value: number): string;
  series?(window: MetricsWindow): number[];
  bad?(value: number): boolean;
}

const whole = (value: number) => String(Math.round(value));
const perSecond = (value: number) => (value === 0 ? '0' : value < 10 ? value.toFixed(1) : whole(value));

const TILES: readonly Tile[] = [
  gauge('streams', 'Speaking', 'utterances being spoken, at all doors', 'streams_active'),
  gauge('chats', 'Answers', 'answers to conversations being written', 'chat_answers_active'),
  gauge('realtime', 'Conversations', 'realtime sessions', 'realtime_sessions_active'),
  gauge('sockets', 'Sockets', 'open speech sockets', 'sockets_active'),
  gauge('connections', 'Connections', 'open connections', 'connections_active'),
  gauge('requests', 'In the engine', 'requests that the engine holds', 'requests_open'),
  gauge('ready', 'Waiting for a step', 'requests that are ready and have not been picked yet', 'engine_ready'),
  gauge('buffered', 'On edges', 'items waiting on streaming edges', 'engine_buffered_items'),
  {
    key: 'audio',
    name: 'Audio a second',
    meaning: 'seconds of audio handed out in a second; 1 keeps up with one listener',
    value: (window) => window.rate(`${P}audio_seconds_total`),
    text: (value) => `${perSecond(value)} s`,
  },
  {
    key: 'tokens',
    name: 'Tokens a second',
    meaning: 'tokens of complete answers that were written',
    value: (window) => window.rate(`${P}chat_tokens_total`, { kind: 'completion' }),
    text: perSecond,
  },
  {
    key: 'late',
    name: 'Late audio',
    meaning: 'pieces of audio that came after their listener had heard all before, in the last minute',
    value: (window) => window.growth(`${P}engine_late_audio_total`),
    text: whole,
    bad: (value) => value > 0,
  },
  {
    key: 'refused',
    name: 'Refused',
    meaning: 'HTTP requests answered by 4xx or 5xx in the last minute',
    value: (window) => window.growth(`${P}http_refusals_total`),
    text: whole,
    bad: (value) => value > 0,
  },
];

function gauge(key: string, name: string, meaning: string, metric: string): Tile {
  return {
    key,
    name,
    meaning,
    value: (window) => window.gauge(P + metric),
    text: whole,
    series: (window) => window.series(P + metric),
  };
}

/** Histograms of times, and the label that tells their rows apart. */
const TIMES = [
  { metric: 'first_chunk_seconds', name: 'First audio', label: 'door' },
  { metric: 'first_chunk_handover_seconds', name: 'Handing it over', label: 'door' },
  { metric: 'chat_first_token_seconds', name: 'First text', label: 'model' },
] as const;

export class LoadView {
  readonly #tiles = byId('load-tiles', HTMLDListElement);
  readonly #times = byId('load-times', HTMLTableElement);
  readonly #nodes = byId('load-nodes', HTMLTableElement);
  readonly #pagesCard = byId('load-pages-card', HTMLElement);
  readonly #pages = byId('load-pages', HTMLElement);

  show(window: MetricsWindow): void {
    this.#tiles.replaceChildren(...TILES.flatMap((tile) => tileOf(tile, window) ?? []));
    this.#times.replaceChildren(...table(['', 'answers', 'half within', '95 % within'], timeRows(window)));
    this.#nodes.replaceChildren(...table(['', 'busy', 'steps a second', 'members a step', 'late'], nodeRows(window)));
    const pages = pageBars(window);
    this.#pagesCard.hidden = pages.length === 0;
    this.#pages.replaceChildren(...pages);
  }
}

/** Null where the server has no such metric. */
function tileOf(tile: Tile, window: MetricsWindow): HTMLElement | null {
  const value = tile.value(window);
  if (value === null) return null;
  const shown = element('dd', { 'data-load': tile.key, 'data-value': String(value) }, tile.text(value));
  const made = element('div', { title: tile.meaning }, element('dt', {}, tile.name), shown);
  if (tile.bad?.(value) === true) made.className = 'bad';
  const series = tile.series?.(window) ?? [];
  if (series.length > 1) made.append(spark(series));
  return made;
}

function spark(series: number[]): SVGSVGElement {
  const most = Math.max(1, ...series);
  const points = series.map((value, i) => `${((i * 100) / (series.length - 1)).toFixed(1)},${(22 - (20 * value) / most).toFixed(1)}`);
  return svg(
    'svg',
    { viewBox: '0 0 100 24', preserveAspectRatio: 'none', class: 'spark', 'aria-hidden': 'true' },
    svg('polygon', { points: `0,24 ${points.join(' ')} 100,24` }),
    svg('polyline', { points: points.join(' ') }),
  );
}

function timeRows(window: MetricsWindow): string[][] {
  return TIMES.flatMap(({ metric, name, label }) =>
    window.values(`${P}${metric}_count`, label).map((value) => {
      const labels = { [label]: value };
      const ms = (share: number) => {
        const seconds = window.quantile(P + metric, share, labels);
        return formatMs(seconds === null ? null : seconds * 1000);
      };
      return [`${name}, ${value}`, whole(window.growth(`${P}${metric}_count`, labels) ?? 0), ms(0.5), ms(0.95)];
    }),
  );
}

function nodeRows(window: MetricsWindow): string[][] {
  return window.values(`${P}engine_steps_total`, 'model').flatMap((model) =>
    window.values(`${P}engine_steps_total`, 'node', { model }).map((node) => {
      const labels = { model, node };
      const busy = window.rate(`${P}engine_busy_seconds_total`, labels);
      const steps = window.growth(`${P}engine_steps_total`, labels) ?? 0;
      const members = window.growth(`${P}engine_step_members_total`, labels) ?? 0;
      return [
        `${model} · ${node}`,
        busy === null ? '–' : `${(busy * 100).toFixed(busy < 0.1 ? 1 : 0)} %`,
        perSecond(window.rate(`${P}engine_steps_total`, labels) ?? 0),
        steps === 0 ? '–' : formatRatio(members / steps),
        whole(window.growth(`${P}engine_late_audio_total`, labels) ?? 0),
      ];
    }),
  );
}

function table(heads: string[], rows: string[][]): HTMLElement[] {
  if (rows.length === 0) return [element('caption', {}, 'Nothing yet')];
  const head = element('tr', {}, ...heads.map((text) => element('th', { scope: 'col' }, text)));
  const body = rows.map(([name, ...cells]) =>
    element('tr', {}, element('th', { scope: 'row' }, name ?? ''), ...cells.map((cell) => element('td', {}, cell))),
  );
  return [element('thead', {}, head), element('tbody', {}, ...body)];
}

const STATES = ['in_use', 'kept', 'free'] as const;

function pageBars(window: MetricsWindow): HTMLElement[] {
  const metric = `${P}engine_kv_pages`;
  return window.values(metric, 'model').flatMap((model) =>
    window.values(metric, 'node', { model }).map((node) => {
      const counts = STATES.map((state) => window.gauge(metric, { model, node, state }) ?? 0);
      const bar = element('div', { class: 'stack', role: 'img', 'aria-label': `${counts[0]} pages used, ${counts[1]} kept, ${counts[2]} free` });
      counts.forEach((count, index) => {
        const part = element('span', { class: STATES[index]! });
        part.style.flexGrow = String(count);
        bar.append(part);
      });
      return element('div', {}, element('span', {}, `${model} · ${node}`), bar, element('span', { class: 'hint' }, counts.join(' / ')));
    }),
  );
}
