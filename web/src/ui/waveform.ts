// The audio as it arrives, with the place that is heard and the places where playout ran dry.

import { PEAKS_PER_SECOND, type Take } from '../audio/take.ts';
import { byId } from './dom.ts';

/** Shorter audio does not fill the width: a short first chunk should look short. */
const MIN_SECONDS = 5;

/** Width of one bar and the gap after it, in CSS pixels. */
const BAR = 3;

interface Colours {
  played: string;
  waiting: string;
  stall: string;
  line: string;
}

export class Waveform {
  readonly #canvas = byId('wave', HTMLCanvasElement);
  readonly #resize: ResizeObserver;
  readonly #scheme = matchMedia('(prefers-color-scheme: dark)');
  #colours: Colours;
  #drawn: { take: Take | null; heard: number; stalls: readonly number[] } = { take: null, heard: 0, stalls: [] };

  constructor() {
    this.#colours = this.#readColours();
    this.#resize = new ResizeObserver(() => this.#fit());
    this.#resize.observe(this.#canvas);
    this.#scheme.addEventListener('change', () => {
      this.#colours = this.#readColours();
      this.#draw();
    });
  }

  /** `heard` and `stalls` are samples of `take`. */
  show(take: Take | null, heard: number, stalls: readonly number[]): void {
    this.#drawn = { take, heard, stalls };
    this.#draw();
  }

  #fit(): void {
    const { width, height } = this.#canvas.getBoundingClientRect();
    const ratio = devicePixelRatio || 1;
    this.#canvas.width = Math.max(1, Math.round(width * ratio));
    this.#canvas.height = Math.max(1, Math.round(height * ratio));
    this.#draw();
  }

  #draw(): void {
    const context = this.#canvas.getContext('2d');
    if (context === null) return;
    const ratio = devicePixelRatio || 1;
    const width = this.#canvas.width / ratio;
    const height = this.#canvas.height / ratio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.fillStyle = this.#colours.line;
    context.fillRect(0, height / 2 - 0.5, width, 1);
    const { take, heard, stalls } = this.#drawn;
    if (take === null || take.length === 0) return;
    const seconds = Math.max(MIN_SECONDS, take.seconds * 1.02);
    const xFromSample = (sample: number) => (sample / take.rate / seconds) * width;
    this.#drawBars(context, take, xFromSample(heard), width, height, seconds);
    context.fillStyle = this.#colours.stall;
    for (const stall of stalls) context.fillRect(xFromSample(stall) - 1, 0, 2, height);
    context.fillStyle = this.#colours.played;
    context.fillRect(xFromSample(heard) - 1, 4, 2, height - 8);
  }

  #drawBars(context: CanvasRenderingContext2D, take: Take, headX: number, width: number, height: number, seconds: number): void {
    const { peaks } = take;
    const perBar = (seconds * PEAKS_PER_SECOND * BAR) / width;
    const loudest = Math.max(0.25, ...rangeMax(peaks, 512));
    for (let bar = 0; bar * perBar < peaks.length; bar++) {
      const x = bar * BAR;
      const from = Math.floor(bar * perBar);
      const to = Math.max(from + 1, Math.floor((bar + 1) * perBar));
      let peak = 0;
      for (let i = from; i < to && i < peaks.length; i++) peak = Math.max(peak, peaks[i]!);
      const size = Math.max(2, (peak / loudest) * (height - 16));
      context.fillStyle = x + BAR / 2 <= headX ? this.#colours.played : this.#colours.waiting;
      context.fillRect(x, (height - size) / 2, BAR - 1, size);
    }
  }

  #readColours(): Colours {
    // `light-dark()` is resolved by the browser only where a colour is used.
    const probe = (name: string) => {
      this.#canvas.style.color = `var(${name})`;
      const colour = getComputedStyle(this.#canvas).color;
      this.#canvas.style.color = '';
      return colour;
    };
    return { played: probe('--accent'), waiting: probe('--wait'), stall: probe('--danger'), line: probe('--line') };
  }
}

/** Maxima of pieces of `values`, so that no call gets too many arguments. */
function rangeMax(values: readonly number[], piece: number): number[] {
  const maxima: number[] = [];
  for (let from = 0; from < values.length; from += piece) {
    let max = 0;
    for (let i = from; i < from + piece && i < values.length; i++) max = Math.max(max, values[i]!);
    maxima.push(max);
  }
  return maxima;
}
