// The walk as a drawing, alive: what is known to have passed an edge moves along it.
//
// The page sees the two ends of a walk: what it sends in, and the audio and words that come out.
// Only these move. A node is marked as having run once something came out that depends on it.

import { REQUESTER, type GraphEdge, type WalkGraph } from '../walk/graph.ts';
import { labelWidth, layOut, type Layout, type Point, type Rect } from '../walk/layout.ts';
import { upstream } from '../walk/upstream.ts';
import { byId, partOf, svg } from './dom.ts';

/** Below this width the walk is drawn downwards. */
const NARROW = 680;
const TRAVEL_MS = 650;
/** Chunks on their way at once; more would be a blur. */
const MAX_MOVING = 32;
const PULSE_MS = 350;
const MARGIN = 14;

interface Moving {
  path: SVGPathElement;
  dot: SVGCircleElement;
  startMs: number;
}

export class WalkView {
  readonly #root: HTMLElement;
  readonly #note: HTMLElement;
  readonly #legend: HTMLElement;
  readonly #still = matchMedia('(prefers-reduced-motion: reduce)');
  readonly #resize: ResizeObserver;
  #graph: WalkGraph | null = null;
  #direction: 'right' | 'down' | null = null;
  #paths: SVGPathElement[] = [];
  #nodes = new Map<string, SVGGElement>();
  #pulses = new Map<string, number>();
  #moving: Moving[] = [];
  #layer: SVGGElement | null = null;

  constructor(card: HTMLElement) {
    card.append(byId('walk-card', HTMLTemplateElement).content.cloneNode(true));
    this.#root = partOf(card, 'drawing');
    this.#note = partOf(card, 'note');
    this.#legend = partOf(card, 'legend');
    this.#resize = new ResizeObserver(() => this.#draw(false));
    this.#resize.observe(this.#root);
  }

  show(graph: WalkGraph): void {
    this.#graph = graph;
    const partitions = graph.partitions.length;
    this.#note.textContent =
      `${graph.nodes.length} node${graph.nodes.length === 1 ? '' : 's'} in ` +
      `${partitions} partition${partitions === 1 ? '' : 's'}`;
    this.#legend.hidden = false;
    this.#draw(true);
  }

  showMissing(reason: string): void {
    this.#graph = null;
    this.#root.replaceChildren();
    this.#legend.hidden = true;
    this.#note.textContent = reason;
  }

  /** Nothing has run yet. */
  reset(): void {
    for (const node of this.#nodes.values()) node.classList.remove('known', 'pulse');
    for (const { dot } of this.#moving) dot.remove();
    this.#moving = [];
  }

  /** Something has gone in: `text`, or `audio` where the walk hears. */
  entered(modality: 'text' | 'audio', nowMs: number): void {
    const goesIn = (edge: GraphEdge) => edge.from === REQUESTER;
    const named = (edge: GraphEdge) => goesIn(edge) && carries(edge, modality);
    // A walk with one way in takes whatever comes by it.
    this.#move(this.#graph?.edges.some(named) === true ? named : goesIn, nowMs);
  }

  /** A chunk of audio, or words, has come out. */
  arrived(modality: 'audio' | 'words' | 'text', nowMs: number): void {
    const fits = (edge: GraphEdge) => edge.to === REQUESTER && carries(edge, modality);
    this.#move(fits, nowMs);
    const graph = this.#graph;
    if (graph === null) return;
    for (const edge of graph.edges.filter(fits)) {
      for (const id of upstream(graph, edge.from)) this.#nodes.get(id)?.classList.add('known');
      this.#nodes.get(edge.from)?.classList.add('pulse');
      this.#pulses.set(edge.from, nowMs + PULSE_MS);
    }
  }

  /** Moves what is on its way; true while something is. */
  tick(nowMs: number): boolean {
    this.#moving = this.#moving.filter(({ path, dot, startMs }) => {
      const share = (nowMs - startMs) / TRAVEL_MS;
      if (share >= 1) {
        dot.remove();
        return false;
      }
      const eased = share < 0 ? 0 : share * share * (3 - 2 * share);
      const { x, y } = path.getPointAtLength(path.getTotalLength() * eased);
      dot.setAttribute('cx', x.toFixed(1));
      dot.setAttribute('cy', y.toFixed(1));
      return true;
    });
    for (const [id, until] of this.#pulses) {
      if (nowMs < until) continue;
      this.#nodes.get(id)?.classList.remove('pulse');
      this.#pulses.delete(id);
    }
    return this.#moving.length > 0 || this.#pulses.size > 0;
  }

  #move(fits: (edge: GraphEdge) => boolean, nowMs: number): void {
    if (this.#graph === null || this.#still.matches) return;
    this.#graph.edges.forEach((edge, index) => {
      const path = this.#paths[index];
      if (!fits(edge) || path === undefined || this.#moving.length >= MAX_MOVING) return;
      const dot = svg('circle', { class: 'chunk', r: 6, cx: -20, cy: -20 });
      this.#layer?.append(dot);
      this.#moving.push({ path, dot, startMs: nowMs });
    });
  }

  #draw(anew: boolean): void {
    if (this.#graph === null) return;
    const direction = this.#root.clientWidth < NARROW ? 'down' : 'right';
    if (!anew && direction === this.#direction) return;
    this.#direction = direction;
    const known = new Set([...this.#nodes].filter(([, node]) => node.classList.contains('known')).map(([id]) => id));
    this.reset();
    this.#paths = [];
    this.#nodes.clear();
    this.#root.replaceChildren(this.#picture(this.#graph, layOut(this.#graph, direction), direction));
    if (!anew) for (const id of known) this.#nodes.get(id)?.classList.add('known');
  }

  #picture(graph: WalkGraph, layout: Layout, direction: 'right' | 'down'): SVGSVGElement {
    const labels = layout.edges.map(({ edge, label }) => placeLabel(edge, label, layout, direction));
    const left = Math.min(0, ...labels.map((label) => label.left)) - MARGIN;
    const width = Math.max(layout.width, ...labels.map((label) => label.right)) + MARGIN - left;
    const height = layout.height + 2 * MARGIN;
    const picture = svg('svg', {
      viewBox: `${left} ${-MARGIN} ${width} ${height}`,
      width,
      height,
      role: 'img',
      'aria-label': describe(graph),
    });
    for (const { name, rect } of layout.frames) picture.append(frame(name, rect));
    for (const { edge, points, back } of layout.edges) picture.append(this.#edge(edge, points, back, direction));
    for (const { node, rect } of layout.nodes) {
      const drawn = nodeBox(node.id, node.engine, rect);
      this.#nodes.set(node.id, drawn);
      picture.append(drawn);
    }
    const hears = graph.edges.some((edge) => edge.from === REQUESTER && carries(edge, 'audio'));
    for (const { side, rect } of layout.ends) picture.append(end(side === 'out' ? 'out' : hears ? 'microphone' : 'text', rect));
    layout.edges.forEach(({ edge }, index) => picture.append(edgeLabel(edge, labels[index]!, direction)));
    this.#layer = svg('g');
    picture.append(this.#layer);
    return picture;
  }

  #edge(edge: GraphEdge, points: Point[], back: boolean, direction: 'right' | 'down'): SVGGElement {
    const d = back ? arc(points[0]!, points.at(-1)!, direction) : curve(points, direction);
    const path = svg('path', { class: `edge ${edge.kind}`, d });
    this.#paths.push(path);
    const { x, y } = points.at(-1)!;
    const head = direction === 'right' ? `M${x} ${y}l-9 -5v10z` : `M${x} ${y}l-5 -9h10z`;
    return svg('g', {}, path, svg('path', { class: `head ${edge.kind}`, d: head }));
  }
}

function carries({ port, modality }: GraphEdge, what: string): boolean {
  return port === what || modality === what;
}

function frame(name: string, rect: Rect): SVGGElement {
  return svg(
    'g',
    {},
    svg('rect', { class: 'frame', ...box(rect), rx: 14 }),
    svg('text', { class: 'frame-name', x: rect.x + 14, y: rect.y + 17 }, name),
  );
}

function nodeBox(id: string, engine: string, rect: Rect): SVGGElement {
  const x = rect.x + rect.width / 2;
  const y = rect.y + rect.height / 2;
  const name = svg('text', { x, y: engine === '' ? y + 4.5 : y - 1, 'text-anchor': 'middle' }, id);
  const group = svg('g', { class: 'node' }, svg('rect', { ...box(rect), rx: 9 }), name);
  if (engine !== '') group.append(svg('text', { class: 'kind', x, y: y + 13.5, 'text-anchor': 'middle' }, engine));
  return group;
}

function end(kind: 'text' | 'microphone' | 'out', rect: Rect): SVGGElement {
  const x = rect.x + rect.width / 2;
  const y = rect.y + rect.height / 2;
  const icons = {
    text: `M${x - 11} ${y - 6}h22M${x - 11} ${y}h22M${x - 11} ${y + 6}h13`,
    microphone: `M${x - 4} ${y - 8}a4 4 0 0 1 8 0v7a4 4 0 0 1 -8 0zM${x - 8} ${y - 1}a8 8 0 0 0 16 0M${x} ${y + 7}v5`,
    out: `M${x - 10} ${y - 4}h5l6 -6v20l-6 -6h-5zM${x + 6} ${y - 5}q5 5 0 10`,
  };
  return svg('g', { class: 'end' }, svg('circle', { cx: x, cy: y, r: rect.width / 2 - 6 }), svg('path', { d: icons[kind] }));
}

interface PlacedLabel extends Point {
  anchor: 'start' | 'middle' | 'end';
  left: number;
  right: number;
}

/** Over and under an edge that goes to the right; beside one that goes down, on its outer side. */
function placeLabel(edge: GraphEdge, { x, y }: Point, layout: Layout, direction: 'right' | 'down'): PlacedLabel {
  const width = labelWidth(edge);
  if (direction === 'right') return { x, y, anchor: 'middle', left: x - width / 2, right: x + width / 2 };
  if (x > layout.width / 2 + 1) return { x: x + 9, y, anchor: 'start', left: x, right: x + 9 + width };
  return { x: x - 9, y, anchor: 'end', left: x - 9 - width, right: x };
}

function edgeLabel(edge: GraphEdge, { x, y, anchor }: PlacedLabel, direction: 'right' | 'down'): SVGGElement {
  const label = svg('g', { 'text-anchor': anchor });
  const [portY, policyY] = direction === 'right' ? [y - 7, y + 16] : [y, y + 14];
  label.append(svg('text', { class: 'port halo', x, y: portY }, edge.port));
  if (edge.policy !== '') label.append(svg('text', { class: 'policy halo', x, y: policyY }, edge.policy));
  return label;
}

/** A curve through `points` that leaves and arrives in the direction of flow. */
function curve(points: Point[], direction: 'right' | 'down'): string {
  let d = `M${points[0]!.x} ${points[0]!.y}`;
  for (let i = 1; i < points.length; i++) {
    const [a, b] = [points[i - 1]!, points[i]!];
    const middle = direction === 'right' ? (a.x + b.x) / 2 : (a.y + b.y) / 2;
    d +=
      direction === 'right'
        ? `C${middle} ${a.y} ${middle} ${b.y} ${b.x} ${b.y}`
        : `C${a.x} ${middle} ${b.x} ${middle} ${b.x} ${b.y}`;
  }
  return d;
}

/** Back over the nodes, for what a loop feeds to an earlier one. */
function arc(a: Point, b: Point, direction: 'right' | 'down'): string {
  const reach = 30;
  const over = direction === 'right' ? Math.min(a.y, b.y) - reach : Math.min(a.x, b.x) - 2 * reach;
  return direction === 'right'
    ? `M${a.x} ${a.y}C${a.x + reach} ${a.y} ${a.x + reach} ${over} ${a.x} ${over}H${b.x}C${b.x - reach} ${over} ${b.x - reach} ${b.y} ${b.x} ${b.y}`
    : `M${a.x} ${a.y}C${a.x} ${a.y + reach} ${over} ${a.y + reach} ${over} ${a.y}V${b.y}C${over} ${b.y - reach} ${b.x} ${b.y - reach} ${b.x} ${b.y}`;
}

function box({ x, y, width, height }: Rect): Record<string, number> {
  return { x, y, width, height };
}

/** The drawing in words, for those who do not see it. */
function describe(graph: WalkGraph): string {
  const you = (id: string) => (id === REQUESTER ? 'you' : id);
  const edges = graph.edges.map(
    ({ from, to, port, policy }) => `${port} from ${you(from)} to ${you(to)}${policy === '' ? '' : ` (${policy})`}`,
  );
  return `The walk of ${graph.model}: ${edges.join('; ')}.`;
}
