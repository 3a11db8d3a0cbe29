// `GET /metrics`: OpenMetrics text into samples. Lines that are none are left out, since a newer
// server may say more than the page knows.

export interface Sample {
  name: string;
  labels: Readonly<Record<string, string>>;
  value: number;
}

/** Lines read at most; a server of ours has a few hundred. */
const MAX_LINES = 20_000;

const LINE = /^([A-Za-z_:][A-Za-z0-9_:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"/g;

export function parseMetrics(text: string): Sample[] {
  return text.split('\n', MAX_LINES).flatMap((line) => parseLine(line) ?? []);
}

function parseLine(line: string): Sample | null {
  const match = LINE.exec(line);
  if (match === null) return null;
  const [, name, labels, number] = match;
  const value = number === '+Inf' ? Infinity : number === '-Inf' ? -Infinity : Number(number);
  return Number.isNaN(value) ? null : { name: name!, labels: parseLabels(labels ?? ''), value };
}

function parseLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const [, name, value] of text.matchAll(LABEL)) labels[name!] = value!.replaceAll(/\\(.)/g, unescape);
  return labels;
}

function unescape(_match: string, character: string): string {
  return character === 'n' ? '\n' : character;
}
