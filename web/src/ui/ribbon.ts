// The last seconds of both voices: the user's above the line, the answer's below it, and the places
// where an answer was cut.

import { fitCanvas, watchColours } from './colours.ts';
import { byId } from './dom.ts';

/** What fits across the ribbon. */
const SECONDS = 8;
/** One bar, in milliseconds of sound and in CSS pixels with the gap after it. */
const BAR_MS = 40;
const BARS = (SECONDS * 1000) / BAR_MS;
/** -54 dB is the smallest bar: below it, a room is silent. */
const FLOOR_DB = -54;

export class Ribbon {
  readonly #canvas = byId('ribbon', HTMLCanvasElement);
  readonly #meters = { in: byId('meter-in', HTMLElement), out: byId('meter-out', HTMLElement) };
  readonly #resize: ResizeObserver;
  /** Levels 0..1 of the last bars, round and round. */
  readonly #in = new Float32Array(BARS);
  readonly #out = new Float32Array(BARS);
  readonly #cut = new Uint8Array(BARS);
  #colours: Record<'in' | 'out' | 'line' | 'cut', string>;
  #bar = 0;
  #meterShown = 0;

  constructor() {
    const variables = { in: '--warm', out: '--accent', line: '--line', cut: '--danger' };
    this.#colours = watchColours(this.#canvas, variables, (colours) => {
      this.#colours = colours;
      this.#draw(0);
    });
    this.#resize = new ResizeObserver(() => {
      fitCanvas(this.#canvas);
      this.#draw(0);
    });
    this.#resize.observe(this.#canvas);
  }

  /** The microphone was that loud just now; 0..1. */
  heardIn(rms: number): void {
    const at = this.#bar % BARS;
    this.#in[at] = Math.max(this.#in[at]!, levelFromRms(rms));
  }

  /** The answer is that loud just now; 0..1. */
  heardOut(rms: number): void {
    const at = this.#bar % BARS;
    this.#out[at] = Math.max(this.#out[at]!, levelFromRms(rms));
  }

  /** The answer was cut just now. */
  cut(): void {
    this.#cut[this.#bar % BARS] = 1;
  }

  /** Moves on to `nowMs` and draws. */
  tick(nowMs: number): void {
    const bar = Math.floor(nowMs / BAR_MS);
    if (bar - this.#bar > BARS) this.#bar = bar - BARS;
    while (this.#bar < bar) {
      this.#bar += 1;
      const at = this.#bar % BARS;
      this.#in[at] = 0;
      this.#out[at] = 0;
      this.#cut[at] = 0;
    }
    this.#draw(nowMs / BAR_MS - bar);
    this.#showMeters(nowMs);
  }

  /** Meters move ten times a second, which is as fast as they can be read. */
  #showMeters(nowMs: number): void {
    if (nowMs - this.#meterShown < 100) return;
    this.#meterShown = nowMs;
    for (const [meter, levels] of [[this.#meters.in, this.#in], [this.#meters.out, this.#out]] as const) {
      const level = Math.max(levels[this.#bar % BARS]!, levels[(this.#bar + BARS - 1) % BARS]!, levels[(this.#bar + BARS - 2) % BARS]!);
      meter.setAttribute('aria-valuenow', String(Math.round(level * 100)));
      meter.style.setProperty('--level', level.toFixed(2));
    }
  }

  #draw(part: number): void {
    const context = this.#canvas.getContext('2d');
    if (context === null) return;
    const ratio = devicePixelRatio || 1;
    const width = this.#canvas.width / ratio;
    const height = this.#canvas.height / ratio;
    const middle = height / 2;
    const pitch = width / BARS;
    const size = Math.max(1.5, pitch * 0.62);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.fillStyle = this.#colours.line;
    context.fillRect(0, middle - 0.5, width, 1);
    for (let back = 0; back < BARS; back++) {
      const at = (((this.#bar - back) % BARS) + BARS) % BARS;
      const x = width - (back + 1 + part) * pitch;
      // Older sound fades towards the left edge.
      context.globalAlpha = Math.min(1, 1.15 - back / BARS);
      bar(context, this.#colours.in, x, middle - 2, -this.#in[at]! * (middle - 8), size);
      bar(context, this.#colours.out, x, middle + 2, this.#out[at]! * (middle - 8), size);
      if (this.#cut[at] === 1) {
        context.fillStyle = this.#colours.cut;
        context.fillRect(x + pitch, 6, 1.5, height - 12);
      }
    }
    context.globalAlpha = 1;
  }
}

function bar(context: CanvasRenderingContext2D, colour: string, x: number, y: number, height: number, width: number): void {
  if (Math.abs(height) < 1) return;
  context.fillStyle = colour;
  context.beginPath();
  context.roundRect(x, Math.min(y, y + height), width, Math.abs(height), width / 2);
  context.fill();
}

/** 0 for silence, 1 for as loud as can be, even steps in decibels. */
function levelFromRms(rms: number): number {
  if (rms <= 0) return 0;
  const level = 1 - (20 * Math.log10(rms) + 6) / (FLOOR_DB + 6);
  return Math.max(0, Math.min(1, level));
}
