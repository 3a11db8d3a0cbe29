// What the page asks the server beside speech: models, voices, the graph of a model.

import { keyHeaders } from './key.ts';
import { errorMessage, parseModels, parseTalkModels, parseVoices, PATHS, ProtocolError, type Voice } from './protocol.ts';
import { UNREACHABLE } from './transport/transport.ts';
import { parseGraph, type WalkGraph } from './walk/graph.ts';

/** A list should come at once; longer than this, something is wrong. */
const TIMEOUT_MS = 5_000;

/** A question that got no good answer; the message says it in words. */
export class ServerError extends Error {
  override name = 'ServerError';
  /** The answer's status; null where there was no answer. */
  readonly status: number | null;

  constructor(message: string, status: number | null = null) {
    super(message);
    this.status = status;
  }
}

export interface Offer {
  /** Models that speak a text. */
  models: string[];
  voices: Voice[];
  /** Models that one can talk to. */
  talk: string[];
}

export async function fetchOffer(): Promise<Offer> {
  const [models, voices] = await Promise.all([ask(PATHS.models), ask(PATHS.voices)]);
  return parsed(() => ({ models: parseModels(models), voices: parseVoices(voices), talk: parseTalkModels(models) }));
}

export async function fetchGraph(model: string): Promise<WalkGraph> {
  const body = await ask(PATHS.graph(model));
  return parsed(() => parseGraph(body));
}

function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof ProtocolError) throw new ServerError(`The server sent ${error.message}.`);
    throw error;
  }
}

async function ask(path: string): Promise<unknown> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(path, { headers: keyHeaders(), signal: AbortSignal.timeout(TIMEOUT_MS) });
    text = await response.text();
  } catch {
    throw new ServerError(UNREACHABLE);
  }
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new ServerError(`The server answered ${path} with something that is not JSON.`);
  }
  if (!response.ok) {
    throw new ServerError(errorMessage(body) ?? `The server answered ${path} with status ${response.status}.`, response.status);
  }
  return body;
}
