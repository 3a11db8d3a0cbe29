// The live figures, and the formulas behind them.

import { formatMs, formatRatio, formatSeconds, type Figures } from '../figures.ts';
import { byId, element } from './dom.ts';

interface Shown {
  key: keyof Figures;
  name: string;
  formula: string;
  text(figures: Figures): string;
  /** Good and bad are coloured, where there is such a thing. */
  verdict?(figures: Figures): 'good' | 'bad' | '';
}

const realTime = (rtf: number | null) => (rtf === null ? '' : rtf < 1 ? 'good' : 'bad');

const SHOWN: readonly Shown[] = [
  {
    key: 'ttfb',
    name: 'TTFB',
    formula: 'first byte of an answer − text sent',
    text: (figures) => formatMs(figures.ttfb),
  },
  {
    key: 'ttfc',
    name: 'TTFC',
    formula: 'first byte of audio − text sent',
    text: (figures) => formatMs(figures.ttfc),
  },
  {
    key: 'ttfa',
    name: 'TTFA',
    formula: 'first audible sample (above −50 dB) leaves the loudspeaker − text sent; prebuffer and device included',
    text: (figures) => formatMs(figures.ttfa),
  },
  {
    key: 'rtf',
    name: 'RTF, end to end',
    formula: '(last byte of audio − text sent) ÷ seconds of audio; below 1 is faster than real time',
    text: (figures) => formatRatio(figures.rtf),
    verdict: (figures) => realTime(figures.rtf),
  },
  {
    key: 'audioSeconds',
    name: 'Audio',
    formula: 'seconds of audio received',
    text: (figures) => formatSeconds(figures.audioSeconds),
  },
  {
    key: 'buffered',
    name: 'Buffered',
    formula: 'audio received and not yet played',
    text: (figures) => formatMs(figures.buffered),
  },
  {
    key: 'stallCount',
    name: 'Stalls',
    formula: 'times that playout ran dry while audio was still to come, and for how long altogether',
    text: (figures) => (figures.stallCount === 0 ? '0' : `${figures.stallCount} · ${formatMs(figures.stalled)}`),
    verdict: (figures) => (figures.stallCount > 0 ? 'bad' : figures.audioSeconds > 0 ? 'good' : ''),
  },
  {
    key: 'chunkCount',
    name: 'Chunks',
    formula: 'pieces in which the audio reached the page',
    text: (figures) => String(figures.chunkCount),
  },
];

const NOTHING: Figures = {
  ttfb: null,
  ttfc: null,
  ttfa: null,
  rtf: null,
  serverRtf: null,
  buffered: null,
  stallCount: 0,
  stalled: 0,
  audioSeconds: 0,
  chunkCount: 0,
};

export class FiguresView {
  readonly #values = new Map<keyof Figures, HTMLElement>();

  constructor() {
    const list = byId('figures', HTMLDListElement);
    const formulas = byId('formulas', HTMLDListElement);
    for (const { key, name, formula } of SHOWN) {
      const value = element('dd', { 'data-figure': key });
      list.append(element('div', { title: formula }, element('dt', {}, name), value));
      formulas.append(element('dt', {}, name), element('dd', {}, formula));
      this.#values.set(key, value);
    }
    this.show(NOTHING);
  }

  show(figures: Figures): void {
    for (const { key, text, verdict } of SHOWN) {
      const value = this.#values.get(key)!;
      const shown = text(figures);
      if (value.textContent !== shown) value.textContent = shown;
      value.dataset['value'] = String(figures[key] ?? '');
      value.parentElement!.className = verdict?.(figures) ?? '';
    }
  }
}
