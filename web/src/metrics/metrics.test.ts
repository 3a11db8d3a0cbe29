import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseMetrics } from './openmetrics.ts';
import { MetricsWindow } from './window.ts';

const TEXT = `# HELP promenade_streams_active Utterances being spoken.
# TYPE promenade_streams_active gauge
promenade_streams_active{door="http"} 2
promenade_streams_active{door="ws"} 3
promenade_audio_seconds_total 12.5
promenade_odd{name="a \\"b\\" {c}, d"} 1
promenade_first_chunk_seconds_bucket{le="0.1",door="ws"} 10
promenade_first_chunk_seconds_bucket{le="0.2",door="ws"} 20
promenade_first_chunk_seconds_bucket{le="+Inf",door="ws"} 20
not a metric at all
# EOF
`;

test('metrics are read with their labels, and the rest is let be', () => {
  const samples = parseMetrics(TEXT);
  assert.equal(samples.length, 7);
  assert.deepEqual(samples[0], { name: 'promenade_streams_active', labels: { door: 'http' }, value: 2 });
  assert.deepEqual(samples[3]!.labels, { name: 'a "b" {c}, d' });
  assert.deepEqual(parseMetrics(''), []);
});

function reading(atMs: number, text: string) {
  return { atMs, samples: parseMetrics(text) };
}

test('gauges are summed, and counted back in time', () => {
  const window = new MetricsWindow(10_000);
  window.push(reading(0, TEXT));
  window.push(reading(1_000, TEXT.replace('} 3', '} 7')));
  assert.equal(window.gauge('promenade_streams_active'), 9);
  assert.equal(window.gauge('promenade_streams_active', { door: 'http' }), 2);
  assert.equal(window.gauge('promenade_nothing'), null);
  assert.deepEqual(window.series('promenade_streams_active'), [5, 9]);
  assert.deepEqual(window.values('promenade_streams_active', 'door'), ['http', 'ws']);
});

test('a counter gives what it grew by, also after the server was started anew', () => {
  const window = new MetricsWindow(10_000);
  assert.equal(window.rate('c'), null);
  window.push(reading(0, 'c 10'));
  assert.equal(window.growth('c'), null);
  window.push(reading(2_000, 'c 16'));
  assert.deepEqual([window.growth('c'), window.rate('c')], [6, 3]);
  window.push(reading(4_000, 'c 2'));
  assert.equal(window.growth('c'), 2);
  window.push(reading(13_000, 'c 3'));
  assert.equal(window.growth('c'), 1, 'what is older than the window is forgotten');
});

test('a quantile lies within the bucket that holds it', () => {
  const window = new MetricsWindow(10_000);
  const at = (a: number, b: number, all: number) =>
    `t_bucket{le="0.1"} ${a}\nt_bucket{le="0.2"} ${b}\nt_bucket{le="+Inf"} ${all}\nt_count ${all}`;
  window.push(reading(0, at(5, 5, 5)));
  assert.equal(window.quantile('t', 0.5), null);
  window.push(reading(1_000, at(5, 25, 25)));
  assert.ok(Math.abs(window.quantile('t', 0.5)! - 0.15) < 1e-9);
  window.push(reading(2_000, at(5, 25, 100)));
  assert.equal(window.quantile('t', 0.95), 0.2, 'beyond the last bound it is that bound');
});
