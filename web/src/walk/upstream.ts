// What must have run for an output to exist.

import { REQUESTER, type WalkGraph } from './graph.ts';

/** The node `id` and all nodes that it depends on, over edges of any kind. */
export function upstream(graph: WalkGraph, id: string): Set<string> {
  const found = new Set<string>();
  const open = [id];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next === REQUESTER || found.has(next)) continue;
    found.add(next);
    for (const edge of graph.edges) if (edge.to === next) open.push(edge.from);
  }
  return found;
}
