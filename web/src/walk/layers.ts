// Boxes and arrows in layers: every arrow goes from a layer to a later one, boxes of a layer stand
// beside each other, and an arrow that passes a layer gets a place of its own there, so that it
// runs past the boxes and not through them.
//
// Coordinates are along (the direction of flow) and across; the caller decides which is x.
// Longest-path layers, order by barycentre, in the manner of Sugiyama, Tagawa and Toda (1981).

export interface Box {
  id: string;
  along: number;
  across: number;
}

export interface Arrow {
  from: string;
  to: string;
  /** Space that it needs between two layers, for a label; 0 for none. */
  label: number;
  /** How much it pulls its two boxes to one height. */
  weight: number;
}

export interface Point {
  along: number;
  across: number;
}

export interface Placed {
  /** Middle of each box by its id. */
  boxes: Map<string, Point>;
  /** For each arrow, in order, the points that it passes between its two boxes. */
  via: Point[][];
  along: number;
  across: number;
}

export interface Gaps {
  /** Between two layers, where no label needs more. */
  along: number;
  /** Between two boxes of a layer. */
  across: number;
  /** What a passing arrow takes of a layer. */
  pass: number;
}

interface Cell extends Box {
  passes: boolean;
  layer: number;
  links: Link[];
}

interface Link {
  other: Cell;
  weight: number;
}

interface Wish {
  at: number;
  weight: number;
}

/** Sweeps over the layers that bring joined boxes to one height; more move nothing by a pixel. */
const SWEEPS = 24;

export function placeInLayers(boxes: readonly Box[], arrows: readonly Arrow[], gaps: Gaps): Placed {
  const cells = new Map<string, Cell>(boxes.map((box) => [box.id, { ...box, passes: false, layer: 0, links: [] }]));
  const forward = arrows.map((arrow) => ({ from: cells.get(arrow.from)!, to: cells.get(arrow.to)!, label: arrow.label }));
  const back = backArrows(boxes, arrows);
  assignLayers([...cells.values()], forward.filter((_, index) => !back.has(index)));
  const layers: Cell[][] = [];
  const put = (cell: Cell) => (layers[cell.layer] ??= []).push(cell);
  for (const cell of cells.values()) put(cell);
  const passing = forward.map(({ from, to }, index) => {
    const chain = back.has(index) ? [] : passesBetween(from.layer, to.layer, gaps.pass, index);
    chain.forEach(put);
    link([from, ...chain, to], arrows[index]!.weight);
    return chain;
  });
  order(layers);
  const across = placeAcross(layers, gaps);
  const { starts, along } = placeAlong(layers, forward, gaps);
  const middle = (cell: Cell): Point => ({
    along: starts[cell.layer]! + widest(layers[cell.layer]!) / 2,
    across: across.get(cell)!,
  });
  return {
    boxes: new Map([...cells].map(([id, cell]) => [id, middle(cell)])),
    via: passing.map((chain) =>
      // Through the whole layer on a straight line, so that a curve cannot touch a wide neighbour.
      chain.flatMap((cell) => {
        const start = starts[cell.layer]!;
        const at = across.get(cell)!;
        return [start, start + widest(layers[cell.layer]!)].map((along) => ({ along, across: at }));
      }),
    ),
    along,
    across: Math.max(0, ...[...across].map(([cell, at]) => at + cell.across / 2)),
  };
}

/** Indices of the arrows that close a cycle, found depth first in the order of declaration. */
function backArrows(boxes: readonly Box[], arrows: readonly Arrow[]): Set<number> {
  const back = new Set<number>();
  const state = new Map<string, 'open' | 'closed'>();
  const visit = (id: string): void => {
    state.set(id, 'open');
    arrows.forEach((arrow, index) => {
      if (arrow.from !== id) return;
      const target = state.get(arrow.to);
      if (target === 'open') back.add(index);
      else if (target === undefined) visit(arrow.to);
    });
    state.set(id, 'closed');
  };
  for (const box of boxes) if (!state.has(box.id)) visit(box.id);
  return back;
}

function assignLayers(cells: Cell[], forward: { from: Cell; to: Cell }[]): void {
  // The longest path in a graph of n boxes has fewer than n arrows.
  for (let round = 0; round < cells.length; round++) {
    let moved = false;
    for (const { from, to } of forward) {
      if (to.layer > from.layer) continue;
      to.layer = from.layer + 1;
      moved = true;
    }
    if (!moved) return;
  }
}

function passesBetween(from: number, to: number, across: number, index: number): Cell[] {
  const chain: Cell[] = [];
  for (let layer = from + 1; layer < to; layer++) {
    chain.push({ id: `pass-${index}-${layer}`, along: 0, across, passes: true, layer, links: [] });
  }
  return chain;
}

function link(chain: Cell[], weight: number): void {
  for (let i = 1; i < chain.length; i++) {
    const [a, b] = [chain[i - 1]!, chain[i]!];
    a.links.push({ other: b, weight });
    b.links.push({ other: a, weight });
  }
}

/** Orders each layer by the mean place of what its boxes are joined to, forth and back. */
function order(layers: Cell[][]): void {
  const place = new Map<Cell, number>();
  const note = (layer: Cell[]) => layer.forEach((cell, index) => place.set(cell, index - (layer.length - 1) / 2));
  layers.forEach(note);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const layer of sweep % 2 === 0 ? layers : [...layers].reverse()) {
      const key = new Map(layer.map((cell) => [cell, wishOf(cell, place)?.at ?? place.get(cell)!]));
      // Passing arrows keep to the outside where the means are equal, and sorting is stable.
      layer.sort((a, b) => key.get(a)! - key.get(b)! || Number(a.passes) - Number(b.passes));
      note(layer);
    }
  }
}

/** Puts each box as near to the mean of its links as its neighbours allow; starts at 0. */
function placeAcross(layers: Cell[][], gaps: Gaps): Map<Cell, number> {
  const at = new Map<Cell, number>();
  for (const layer of layers) stack(layer, gaps, at, () => null);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const layer of sweep % 2 === 0 ? layers : [...layers].reverse()) {
      stack(layer, gaps, at, (cell) => wishOf(cell, at));
    }
  }
  const top = Math.min(...[...at].map(([cell, middle]) => middle - cell.across / 2));
  for (const [cell, middle] of at) at.set(cell, middle - top);
  return at;
}

/** Places a layer's boxes one after another, then shifts them together to the mean of their wishes. */
function stack(layer: Cell[], gaps: Gaps, at: Map<Cell, number>, wish: (cell: Cell) => Wish | null): void {
  const wishes = layer.map((cell) => wish(cell) ?? { at: 0, weight: 1 });
  let edge = -Infinity;
  const placed = layer.map((cell, index) => {
    const middle = Math.max(wishes[index]!.at, edge + cell.across / 2);
    edge = middle + cell.across / 2 + gaps.across;
    return middle;
  });
  const shift = mean(placed.map((middle, index) => ({ at: wishes[index]!.at - middle, weight: wishes[index]!.weight })));
  layer.forEach((cell, index) => at.set(cell, placed[index]! + (shift?.at ?? 0)));
}

function placeAlong(layers: Cell[][], arrows: { from: Cell; to: Cell; label: number }[], gaps: Gaps) {
  const starts: number[] = [];
  let along = 0;
  layers.forEach((layer, index) => {
    starts.push(along);
    const labels = arrows.filter(({ from }) => from.layer === index).map(({ label }) => label);
    along += widest(layer) + (index === layers.length - 1 ? 0 : Math.max(gaps.along, ...labels));
  });
  return { starts, along };
}

function widest(layer: Cell[]): number {
  return Math.max(0, ...layer.map((cell) => cell.along));
}

/** Where a box would like to stand for the sake of what it is joined to, and how much. */
function wishOf(cell: Cell, at: Map<Cell, number>): Wish | null {
  return mean(cell.links.map(({ other, weight }) => ({ at: at.get(other)!, weight })));
}

function mean(wishes: Wish[]): Wish | null {
  const weight = wishes.reduce((sum, wish) => sum + wish.weight, 0);
  if (weight === 0) return null;
  return { at: wishes.reduce((sum, wish) => sum + wish.at * wish.weight, 0) / weight, weight };
}
