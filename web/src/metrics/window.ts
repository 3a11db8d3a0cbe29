// What a server did lately: counts of a while ago taken from counts of now.
//
// A counter says how much there has been since the server started. Two readings give how much there
// was between them; a counter that has gone down belongs to a server that was started anew, and
// then all of it is new.

import type { Sample } from './openmetrics.ts';

/** One reading of all metrics. */
export interface Reading {
  /** Page time. */
  atMs: number;
  samples: readonly Sample[];
}

type Labels = Record<string, string>;

export class MetricsWindow {
  readonly #spanMs: number;
  readonly #readings: Reading[] = [];

  /** Readings older than `spanMs` are forgotten. */
  constructor(spanMs: number) {
    this.#spanMs = spanMs;
  }

  push(reading: Reading): void {
    this.#readings.push(reading);
    while (this.#readings.length > 1 && reading.atMs - this.#readings[0]!.atMs > this.#spanMs) this.#readings.shift();
  }

  clear(): void {
    this.#readings.length = 0;
  }

  /** Seconds between the oldest reading and the last one. */
  get seconds(): number {
    return this.#readings.length < 2 ? 0 : (this.#readings.at(-1)!.atMs - this.#readings[0]!.atMs) / 1000;
  }

  /** The last value of a gauge, summed over all samples with those labels; null where there is none. */
  gauge(name: string, labels: Labels = {}): number | null {
    return sum(this.#readings.at(-1), name, labels);
  }

  /** How a gauge went, reading by reading. */
  series(name: string, labels: Labels = {}): number[] {
    return this.#readings.map((reading) => sum(reading, name, labels) ?? 0);
  }

  /** What a counter grew by; null where there is none. */
  growth(name: string, labels: Labels = {}): number | null {
    const now = sum(this.#readings.at(-1), name, labels);
    if (now === null || this.#readings.length < 2) return null;
    const before = sum(this.#readings[0], name, labels) ?? 0;
    return now < before ? now : now - before;
  }

  /** What a counter grew by a second; null where there is none. */
  rate(name: string, labels: Labels = {}): number | null {
    const growth = this.growth(name, labels);
    return growth === null || this.seconds === 0 ? null : growth / this.seconds;
  }

  /** The values of `label` that samples of that name have, in order. */
  values(name: string, label: string, labels: Labels = {}): string[] {
    const samples = this.#readings.at(-1)?.samples ?? [];
    const found = samples.filter((sample) => sample.name === name && matches(sample, labels));
    return [...new Set(found.flatMap(({ labels: all }) => all[label] ?? []))];
  }

  /**
   * The `share`-th of what a histogram took in, evenly spread within a bucket; null without any.
   * Above the last bound it is that bound.
   */
  quantile(name: string, share: number, labels: Labels = {}): number | null {
    const bounds = this.values(`${name}_bucket`, 'le', labels)
      .map((le) => ({ le, bound: le === '+Inf' ? Infinity : Number(le) }))
      .sort((a, b) => a.bound - b.bound);
    const counts = bounds.map(({ le }) => this.growth(`${name}_bucket`, { ...labels, le }) ?? 0);
    const total = counts.at(-1) ?? 0;
    if (total === 0) return null;
    const index = counts.findIndex((count) => count >= share * total);
    const [lower, upper] = [bounds[index - 1]?.bound ?? 0, bounds[index]!.bound];
    if (upper === Infinity) return lower;
    const before = counts[index - 1] ?? 0;
    return lower + ((upper - lower) * (share * total - before)) / (counts[index]! - before);
  }
}

function sum(reading: Reading | undefined, name: string, labels: Labels): number | null {
  const found = reading?.samples.filter((sample) => sample.name === name && matches(sample, labels)) ?? [];
  return found.length === 0 ? null : found.reduce((all, { value }) => all + value, 0);
}

function matches(sample: Sample, labels: Labels): boolean {
  return Object.entries(labels).every(([name, value]) => sample.labels[name] === value);
}
