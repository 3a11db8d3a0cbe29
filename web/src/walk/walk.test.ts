import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseGraph, policyText, REQUESTER, type WalkGraph } from './graph.ts';
import { placeInLayers } from './layers.ts';
import { layOut, type Direction, type Point, type Rect } from './layout.ts';
import { upstream } from './upstream.ts';

const VOICE = {
  model: 'voice',
  nodes: [
    { name: 'frontend', partition: 'text' },
    { name: 'latents', partition: 'text' },
    { name: 'vocoder', partition: 'wave' },
  ],
  edges: [
    { from: '', to: 'frontend', port: 'text', kind: 'stream', policy: { kind: 'boundary', max: 400 } },
    { from: 'frontend', to: 'latents', port: 'phonemes', kind: 'pass' },
    { from: 'latents', to: 'vocoder', port: 'frames', kind: 'stream', policy: { kind: 'ramp', first: 16, max: 128 } },
    { from: 'latents', to: '', port: 'words', kind: 'emit' },
    { from: 'vocoder', to: '', port: 'audio', kind: 'emit' },
  ],
};

/** A loop within a partition, a cycle between partitions, a node without edges. */
const HARD: WalkGraph = {
  model: 'hard',
  partitions: ['a', 'b', 'c'],
  nodes: ['a1 a', 'a2 a', 'a3 a', 'b1 b', 'b2 b', 'c1 c'].map((node) => {
    const [id, partition] = node.split(' ') as [string, string];
    return { id, partition, engine: 'kv' };
  }),
  edges: ['requester a1', 'a1 a2', 'a2 a3', 'a3 a1', 'a1 a3', 'a3 b1', 'b1 b2', 'b2 a1', 'a2 a2', 'b2 requester', 'a1 requester', 'requester b2'].map((edge) => {
    const [from, to] = edge.split(' ') as [string, string];
    return { from, to, port: `${from}-${to}`, kind: 'pass' as const, policy: '', modality: '' };
  }),
};

test('a graph is read, and what does not fit is named', () => {
  const graph = parseGraph(VOICE);
  assert.deepEqual(graph.partitions, ['text', 'wave']);
  assert.equal(graph.edges[2]!.policy, 'ramp 16 → 128');
  assert.deepEqual([graph.edges[0]!.from, graph.edges[4]!.to], [REQUESTER, REQUESTER]);
  assert.throws(() => parseGraph({ ...VOICE, edges: [{ from: 'frontend', to: 'nobody' }] }), /"nobody", which is not a node/);
  assert.throws(() => parseGraph({ nodes: [{}], edges: [] }), /without "name"/);
  assert.throws(() => parseGraph({ nodes: Array.from({ length: 201 }, (_, i) => ({ name: `n${i}` })), edges: [] }), /too large/);
});

test('a policy in words stays, one in fields is spelled out', () => {
  const cases: [unknown, string][] = [
    ['fixed 4', 'fixed 4'],
    [{ kind: 'fixed', chunk: 1 }, 'fixed 1'],
    [{ kind: 'sliding_window', window: 28, stride: 7 }, 'window 28, stride 7'],
    [{ kind: 'left_context', chunk: 25, left: 20 }, 'chunk 25, left 20'],
    [{ kind: 'ramp', first: 4, max: 16, left: 0, right: 0 }, 'ramp 4 → 16'],
    [{ kind: 'ramp', first: 4, max: 16, left: 2, right: 3 }, 'ramp 4 → 16, overlap 2 + 3'],
    [{ kind: 'boundary', first_min: 8, min: 24, max: 120, max_wait_seconds: null }, 'boundary 8 … 120'],
    [{ kind: 'new_one', a_b: 1, nested: {}, on: true }, 'new one: a b 1'],
    [null, ''],
  ];
  for (const [policy, expected] of cases) assert.equal(policyText(policy), expected);
});

for (const direction of ['right', 'down'] as const) {
  for (const graph of [parseGraph(VOICE), HARD]) {
    test(`the drawing of ${graph.model} to the ${direction} is sound`, () => checkLayout(graph, direction));
  }
}

function checkLayout(graph: WalkGraph, direction: Direction): void {
  const layout = layOut(graph, direction);
  const solid = [...layout.frames.map(({ rect }) => rect), ...layout.ends.map(({ rect }) => rect)];
  const whole = { x: 0, y: 0, width: layout.width, height: layout.height };
  for (const rect of solid) assert.ok(inside(rect, whole), 'within the drawing');
  forEachPair(solid, (a, b) => assert.ok(!overlap(a, b), 'frames and ends stand apart'));
  forEachPair(layout.nodes.map(({ rect }) => rect), (a, b) => assert.ok(!overlap(a, b), 'nodes stand apart'));
  for (const { node, rect } of layout.nodes) {
    assert.ok(inside(rect, layout.frames.find(({ name }) => name === node.partition)!.rect), `${node.id} in its frame`);
  }
  for (const { edge, points, back } of layout.edges) {
    for (const { x, y } of points) assert.ok(Number.isFinite(x) && Number.isFinite(y));
    assert.ok(touches(points[0]!, boxOf(edge.from, 'in')), `${edge.port} leaves its node`);
    assert.ok(touches(points.at(-1)!, boxOf(edge.to, 'out')), `${edge.port} reaches its node`);
    if (back) continue;
    for (const { node, rect } of layout.nodes) {
      const passes = points.slice(1, -1).some((point) => strictlyInside(point, rect));
      assert.ok(!passes, `${edge.port} runs past ${node.id}`);
    }
  }
  function boxOf(id: string, side: 'in' | 'out'): Rect {
    if (id === REQUESTER) return layout.ends.find((end) => end.side === side)!.rect;
    return layout.nodes.find(({ node }) => node.id === id)!.rect;
  }
}

test('arrows go forward, and one that skips a layer gets a place in it', () => {
  const box = (id: string) => ({ id, along: 10, across: 10 });
  const arrow = (from: string, to: string) => ({ from, to, label: 0, weight: 1 });
  const placed = placeInLayers([box('a'), box('b'), box('c')], [arrow('a', 'b'), arrow('b', 'c'), arrow('a', 'c')], {
    along: 5,
    across: 5,
    pass: 4,
  });
  const along = ['a', 'b', 'c'].map((id) => placed.boxes.get(id)!.along);
  assert.deepEqual(along, [5, 20, 35]);
  assert.deepEqual(placed.via.map((points) => points.length), [0, 0, 2]);
  assert.ok(Math.abs(placed.via[2]![0]!.across - placed.boxes.get('b')!.across) >= 7);
});

test('what must have run is found over cycles', () => {
  assert.deepEqual([...upstream(parseGraph(VOICE), 'latents')].sort(), ['frontend', 'latents']);
  assert.deepEqual([...upstream(HARD, 'b2')].sort(), ['a1', 'a2', 'a3', 'b1', 'b2']);
});

function forEachPair(rects: Rect[], check: (a: Rect, b: Rect) => void): void {
  rects.forEach((a, i) => rects.slice(i + 1).forEach((b) => check(a, b)));
}

function overlap(a: Rect, b: Rect): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

function inside(a: Rect, b: Rect): boolean {
  const slack = 1e-6;
  return a.x >= b.x - slack && a.y >= b.y - slack && a.x + a.width <= b.x + b.width + slack && a.y + a.height <= b.y + b.height + slack;
}

function touches({ x, y }: Point, rect: Rect): boolean {
  return x >= rect.x - 1e-6 && x <= rect.x + rect.width + 1e-6 && y >= rect.y - 1e-6 && y <= rect.y + rect.height + 1e-6;
}

function strictlyInside({ x, y }: Point, rect: Rect): boolean {
  return x > rect.x + 1e-6 && x < rect.x + rect.width - 1e-6 && y > rect.y + 1e-6 && y < rect.y + rect.height - 1e-6;
}
