// A model's graph as the page draws it: what `GET /v1/models/{id}/graph?format=json` answers. An
// end of an edge without a name is the requester.

import { asList, asObject, isFields, ProtocolError } from '../protocol.ts';

/** Who asks and listens: not a node of the model, drawn on both sides of it. */
export const REQUESTER = 'requester';

/** More than this is not drawn. */
const MAX_NODES = 200;
const MAX_EDGES = 1_000;

export interface GraphNode {
  id: string;
  partition: string;
  /** The kind of engine behind it: `stateless`, `streaming`, `kv`; empty where not said. */
  engine: string;
}

export type EdgeKind = 'pass' | 'stream' | 'emit' | 'persist';

export interface GraphEdge {
  from: string;
  to: string;
  port: string;
  kind: EdgeKind;
  /** The chunk policy of a streaming edge, in words; empty otherwise. */
  policy: string;
  /** What it carries to the requester: `audio`, `text`; empty where not said. */
  modality: string;
}

export interface WalkGraph {
  model: string;
  nodes: GraphNode[];
  edges: GraphEdge[];
  /** Partition names in the order of the declaration. */
  partitions: string[];
}

export function parseGraph(body: unknown): WalkGraph {
  const graph = asObject(body, 'a graph');
  const nodes = asList(graph['nodes'], 'nodes').map(parseNode);
  const edges = asList(graph['edges'], 'edges').map(parseEdge);
  if (nodes.length > MAX_NODES || edges.length > MAX_EDGES) {
    throw new ProtocolError(`a graph of ${nodes.length} nodes is too large to draw`);
  }
  const known = new Set([REQUESTER, ...nodes.map((node) => node.id)]);
  for (const { from, to } of edges) {
    for (const end of [from, to]) {
      if (!known.has(end)) throw new ProtocolError(`an edge to "${end}", which is not a node`);
    }
  }
  return {
    model: text(graph['model']) || text(graph['name']),
    nodes,
    edges,
    partitions: [...new Set(nodes.map((node) => node.partition))],
  };
}

function parseNode(item: unknown): GraphNode {
  const node = asObject(item, 'a node');
  const id = text(node['name']) || text(node['id']);
  if (id === '') throw new ProtocolError('a node without "name"');
  return { id, partition: text(node['partition']), engine: text(node['engine']) };
}

function parseEdge(item: unknown): GraphEdge {
  const edge = asObject(item, 'an edge');
  const kind = text(edge['kind']);
  return {
    from: parseEnd(edge['from']),
    to: parseEnd(edge['to']),
    port: text(edge['port']) || text(edge['name']),
    kind: kind === 'stream' || kind === 'emit' || kind === 'persist' ? kind : 'pass',
    policy: policyText(edge['policy']),
    modality: text(edge['modality']),
  };
}

function parseEnd(value: unknown): string {
  const name = isFields(value) ? text(value['node']) : text(value);
  return name === '' ? REQUESTER : name;
}

type Parameters = Record<string, number | string>;

/** The policies that there are, each in a few words; fields of no effect are left out. */
const POLICIES: Record<string, (p: Parameters) => string> = {
  fixed: ({ chunk }) => `fixed ${chunk}`,
  sliding_window: ({ window, stride }) => `window ${window}, stride ${stride}`,
  left_context: ({ chunk, left }) => `chunk ${chunk}, left ${left}`,
  ramp: ({ first, max, left, right }) =>
    `ramp ${first} → ${max}` + (left || right ? `, overlap ${left ?? 0} + ${right ?? 0}` : ''),
  boundary: ({ first_min, min, max }) => `boundary ${first_min ?? min} … ${max}`,
};

/** `{kind: "ramp", first: 8, max: 64}` as `ramp 8 → 64`; a policy in words stays as it is. */
export function policyText(policy: unknown): string {
  if (typeof policy === 'string') return policy;
  if (!isFields(policy)) return '';
  const kind = text(policy['kind']);
  const known = POLICIES[kind.toLowerCase().replaceAll(/[ -]/g, '_')];
  const parameters = Object.entries(policy).filter(
    (entry): entry is [string, number | string] => entry[0] !== 'kind' && ['number', 'string'].includes(typeof entry[1]),
  );
  if (known !== undefined) return known(Object.fromEntries(parameters));
  const shown = parameters.map(([name, value]) => `${name.replaceAll('_', ' ')} ${value}`).join(', ');
  return [kind.replaceAll('_', ' '), shown].filter((part) => part !== '').join(': ');
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
