// Where everything of a graph stands in the drawing: partitions as frames in layers, nodes in
// layers inside their frame, the requester before and after them.
//
// Pure: no DOM. The flow goes to the right, or downwards where the page is narrow.

import { REQUESTER, type GraphEdge, type GraphNode, type WalkGraph } from './graph.ts';
import { placeInLayers, type Arrow, type Box, type Placed, type Point as Flow } from './layers.ts';

export type Direction = 'right' | 'down';

export interface Point {
  x: number;
  y: number;
}

export interface Rect extends Point {
  width: number;
  height: number;
}

export interface Layout {
  width: number;
  height: number;
  frames: { name: string; rect: Rect }[];
  nodes: { node: GraphNode; rect: Rect }[];
  /** The requester's two ends: the text goes in at one, the audio comes out at the other. */
  ends: { side: 'in' | 'out'; rect: Rect }[];
  edges: { edge: GraphEdge; points: Point[]; label: Point; back: boolean }[];
}

const NODE_HEIGHT = 44;
const NODE_PADDING = 28;
const CHAR_WIDTH = 7.6;
const LABEL_CHAR_WIDTH = 6.4;
/** Equal on both sides, so that a frame's middle is the middle of what is in it. */
const FRAME_PADDING = 26;
/** Left and right of a frame's name, down to the line that passes it. */
const NAME_MARGIN = 22;
const END_SIZE = 64;
/** What an edge beside the main line weighs: the main line stays straight. */
const ASIDE = 0.02;

const IN = 'in:requester';
const OUT = 'out:requester';

export function layOut(graph: WalkGraph, direction: Direction): Layout {
  return new Drawing(graph, direction).layout();
}

/** The text at an edge, and how wide it is about to be. */
export function labelWidth(edge: GraphEdge): number {
  return Math.max(edge.port.length, edge.policy.length) * LABEL_CHAR_WIDTH;
}

interface Frame {
  name: string;
  placed: Placed;
  box: Box;
  /** Edge index to its index among the frame's arrows. */
  arrows: Map<number, number>;
}

class Drawing {
  readonly #graph: WalkGraph;
  readonly #right: boolean;
  readonly #partitionOf: Map<string, string>;

  constructor(graph: WalkGraph, direction: Direction) {
    this.#graph = graph;
    this.#right = direction === 'right';
    this.#partitionOf = new Map(graph.nodes.map((node) => [node.id, node.partition]));
  }

  layout(): Layout {
    const frames = new Map(this.#graph.partitions.map((name) => [name, this.#frame(name)]));
    const end = (id: string): Box => ({ id, along: END_SIZE, across: END_SIZE });
    const outer: Arrow[] = [];
    const outerIndex = new Map<number, number>();
    this.#graph.edges.forEach((edge, index) => {
      const from = this.#home(edge.from, IN);
      const to = this.#home(edge.to, OUT);
      if (from === to) return;
      outerIndex.set(index, outer.length);
      outer.push({ from, to, label: this.#labelSpace(edge), weight: this.#weight(edge) });
    });
    const boxes = [end(IN), ...[...frames.values()].map((frame) => frame.box), end(OUT)];
    const placed = placeInLayers(boxes, outer, { along: 56, across: 28, pass: 30 });
    return this.#assemble(frames, placed, outerIndex);
  }

  #home(id: string, requester: string): string {
    return id === REQUESTER ? requester : `frame:${this.#partitionOf.get(id)!}`;
  }

  /** One partition: its nodes, and for each edge over its border a place on the border. */
  #frame(name: string): Frame {
    const nodes = this.#graph.nodes.filter((node) => node.partition === name);
    const inside = (id: string) => this.#partitionOf.get(id) === name && id !== REQUESTER;
    const boxes: Box[] = nodes.map((node) => this.#nodeBox(node));
    const arrows: Arrow[] = [];
    const indices = new Map<number, number>();
    this.#graph.edges.forEach((edge, index) => {
      const [from, to] = [inside(edge.from), inside(edge.to)];
      if (!from && !to) return;
      indices.set(index, arrows.length);
      if (!from || !to) boxes.push({ id: `border:${index}`, along: 0, across: 14 });
      arrows.push({
        from: from ? edge.from : `border:${index}`,
        to: to ? edge.to : `border:${index}`,
        label: from && to ? this.#labelSpace(edge) : 0,
        weight: this.#weight(edge),
      });
    });
    const placed = placeInLayers(boxes, arrows, { along: 30, across: 16, pass: 22 });
    const across = placed.across + 2 * FRAME_PADDING;
    // Its name stands beside the line that comes in from above.
    const box = {
      id: `frame:${name}`,
      along: placed.along + (this.#right ? 0 : FRAME_PADDING),
      across: this.#right ? across : Math.max(across, 2 * (name.length * CHAR_WIDTH + NAME_MARGIN)),
    };
    return { name, placed, box, arrows: indices };
  }

  #nodeBox(node: GraphNode): Box {
    const width = Math.max(76, Math.max(node.id.length, node.engine.length) * CHAR_WIDTH + NODE_PADDING);
    return this.#right
      ? { id: node.id, along: width, across: NODE_HEIGHT }
      : { id: node.id, along: NODE_HEIGHT, across: width };
  }

  #labelSpace(edge: GraphEdge): number {
    return this.#right ? labelWidth(edge) + 30 : edge.policy === '' ? 44 : 62;
  }

  /** What goes out beside something that goes on is aside from the main line. */
  #weight(edge: GraphEdge): number {
    const goesOn = this.#graph.edges.some((other) => other.from === edge.from && other.kind !== 'emit');
    return edge.kind === 'emit' && goesOn ? ASIDE : 1;
  }

  #assemble(frames: Map<string, Frame>, outer: Placed, outerIndex: Map<number, number>): Layout {
    const corner = (frame: Frame): Flow => {
      const middle = outer.boxes.get(frame.box.id)!;
      return { along: middle.along - frame.box.along / 2, across: middle.across - frame.box.across / 2 };
    };
    const origin = (frame: Frame): Flow => {
      const { along, across } = corner(frame);
      return { along: along + (this.#right ? 0 : FRAME_PADDING / 2), across: across + (frame.box.across - frame.placed.across) / 2 };
    };
    const inFrame = (frame: Frame, point: Flow): Flow => {
      const start = origin(frame);
      return { along: start.along + point.along, across: start.across + point.across };
    };
    const frameOf = (id: string) => frames.get(this.#partitionOf.get(id)!)!;
    const edges = this.#graph.edges.map((edge, index) => {
      const flow: Flow[] = [this.#leave(edge.from, frames, outer, inFrame)];
      const pass = (frame: Frame) => frame.placed.via[frame.arrows.get(index)!]!.map((p) => inFrame(frame, p));
      const border = (frame: Frame) => inFrame(frame, frame.placed.boxes.get(`border:${index}`)!);
      const within = edge.from !== REQUESTER && edge.to !== REQUESTER && !outerIndex.has(index);
      if (within) flow.push(...pass(frameOf(edge.from)));
      else {
        if (edge.from !== REQUESTER) flow.push(...pass(frameOf(edge.from)), border(frameOf(edge.from)));
        flow.push(...(outer.via[outerIndex.get(index)!] ?? []));
        if (edge.to !== REQUESTER) flow.push(border(frameOf(edge.to)), ...pass(frameOf(edge.to)));
      }
      flow.push(this.#arrive(edge.to, frames, outer, inFrame));
      const back = flow[0]!.along > flow.at(-1)!.along;
      return { edge, points: flow.map((p) => this.#point(p)), label: this.#point(labelAt(flow)), back };
    });
    const size = this.#point({ along: outer.along, across: outer.across });
    return {
      width: size.x,
      height: size.y,
      frames: [...frames.values()].map((frame) => {
        return { name: frame.name, rect: this.#rect(outer.boxes.get(frame.box.id)!, frame.box) };
      }),
      nodes: this.#graph.nodes.map((node) => {
        const frame = frameOf(node.id);
        return { node, rect: this.#rect(inFrame(frame, frame.placed.boxes.get(node.id)!), this.#nodeBox(node)) };
      }),
      ends: [
        { side: 'in' as const, rect: this.#rect(outer.boxes.get(IN)!, { along: END_SIZE, across: END_SIZE }) },
        { side: 'out' as const, rect: this.#rect(outer.boxes.get(OUT)!, { along: END_SIZE, across: END_SIZE }) },
      ],
      edges,
    };
  }

  #leave(id: string, frames: Map<string, Frame>, outer: Placed, inFrame: (frame: Frame, point: Flow) => Flow): Flow {
    const { middle, half } = this.#anchor(id, IN, frames, outer, inFrame);
    return { along: middle.along + half, across: middle.across };
  }

  #arrive(id: string, frames: Map<string, Frame>, outer: Placed, inFrame: (frame: Frame, point: Flow) => Flow): Flow {
    const { middle, half } = this.#anchor(id, OUT, frames, outer, inFrame);
    return { along: middle.along - half, across: middle.across };
  }

  #anchor(
    id: string,
    end: string,
    frames: Map<string, Frame>,
    outer: Placed,
    inFrame: (frame: Frame, point: Flow) => Flow,
  ): { middle: Flow; half: number } {
    if (id === REQUESTER) return { middle: outer.boxes.get(end)!, half: END_SIZE / 2 };
    const frame = frames.get(this.#partitionOf.get(id)!)!;
    const node = this.#graph.nodes.find((candidate) => candidate.id === id)!;
    return { middle: inFrame(frame, frame.placed.boxes.get(id)!), half: this.#nodeBox(node).along / 2 };
  }

  #point(flow: Flow): Point {
    return this.#right ? { x: flow.along, y: flow.across } : { x: flow.across, y: flow.along };
  }

  #rect(middle: Flow, size: { along: number; across: number }): Rect {
    const { x, y } = this.#point(middle);
    const [width, height] = this.#right ? [size.along, size.across] : [size.across, size.along];
    return { x: x - width / 2, y: y - height / 2, width, height };
  }
}

/** The middle of the longest piece of an edge. */
function labelAt(points: Flow[]): Flow {
  let best: Flow = points[0]!;
  let longest = -1;
  for (let i = 1; i < points.length; i++) {
    const [a, b] = [points[i - 1]!, points[i]!];
    const length = Math.abs(b.along - a.along);
    if (length > longest) {
      longest = length;
      best = { along: (a.along + b.along) / 2, across: (a.across + b.across) / 2 };
    }
  }
  return best;
}
