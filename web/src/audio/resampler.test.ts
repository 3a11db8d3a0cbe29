import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Resampler } from './resampler.ts';

function convert(input: Float32Array, from: number, to: number, piece = input.length): number[] {
  const resampler = new Resampler(from, to);
  const out = new Float32Array(resampler.mostFrom(piece));
  const all: number[] = [];
  for (let at = 0; at < input.length; at += piece) {
    const count = resampler.push(input.subarray(at, at + piece), out);
    all.push(...out.subarray(0, count));
  }
  return all;
}

function sine(hz: number, rate: number, seconds: number): Float32Array {
  return Float32Array.from({ length: rate * seconds }, (_, i) => Math.sin((2 * Math.PI * hz * i) / rate));
}

/** Amplitude of `hz` in `samples`, by correlation with both phases. */
function amplitude(samples: readonly number[], hz: number, rate: number): number {
  let [re, im] = [0, 0];
  samples.forEach((x, i) => {
    re += x * Math.cos((2 * Math.PI * hz * i) / rate);
    im += x * Math.sin((2 * Math.PI * hz * i) / rate);
  });
  return (2 * Math.hypot(re, im)) / samples.length;
}

const settled = (samples: number[]) => samples.slice(2_400, -2_400);

for (const from of [8_000, 16_000, 22_050, 24_000, 44_100, 48_000, 96_000]) {
  test(`a tone at ${from} Hz keeps its pitch and loudness`, () => {
    const out = convert(sine(1_000, from, 1), from, 24_000);
    assert.ok(Math.abs(out.length - 24_000) <= 2, `${out.length} samples`);
    assert.ok(Math.abs(amplitude(settled(out), 1_000, 24_000) - 1) < 0.01);
    const power = settled(out).reduce((sum, x) => sum + x * x, 0) / settled(out).length;
    assert.ok(Math.abs(power - 0.5) < 0.01, 'and nothing else is in it');
  });
}

test('what the lower rate cannot carry does not fold back', () => {
  for (const hz of [13_500, 16_000, 20_000]) {
    const out = settled(convert(sine(hz, 48_000, 1), 48_000, 24_000));
    const power = out.reduce((sum, x) => sum + x * x, 0) / out.length;
    assert.ok(10 * Math.log10(power / 0.5) < -50, `${hz} Hz comes through at ${10 * Math.log10(power / 0.5)} dB`);
  }
});

test('a constant stays what it is', () => {
  const out = settled(convert(new Float32Array(44_100).fill(0.25), 44_100, 24_000));
  assert.ok(out.every((x) => Math.abs(x - 0.25) < 1e-3));
});

test('any split of the input gives the same output', () => {
  const input = sine(700, 44_100, 0.2);
  const whole = convert(input, 44_100, 24_000);
  for (const piece of [1, 7, 128, 1_000]) assert.deepEqual(convert(input, 44_100, 24_000, piece), whole);
});

test('a rate that is none is refused', () => {
  assert.throws(() => new Resampler(0, 24_000), /rate of 0/);
  assert.throws(() => new Resampler(48_000, Number.NaN), /NaN/);
});
