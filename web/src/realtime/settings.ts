// What a reader may choose of a conversation, and how it is told to the server.
//
// Settings outlive a visit: they are kept as JSON, and read back with every value checked, since a
// reader or an older page may have written anything there.

import { isFields, type Fields } from '../protocol.ts';

/** How the end of a turn is found: by silence, by meaning, or by letting go of a button. */
export type TurnTaking = 'server_vad' | 'semantic_vad' | 'push';
export type Eagerness = 'low' | 'medium' | 'high' | 'auto';
export type LinkKind = 'ws' | 'webrtc';

export interface TalkSettings {
  link: LinkKind;
  /** Empty: the server's default. */
  voice: string;
  speed: number;
  /** Empty: the server's default. */
  instructions: string;
  turns: TurnTaking;
  threshold: number;
  prefixMs: number;
  silenceMs: number;
  /** 0: the server does not speak up in a long silence. */
  idleMs: number;
  eagerness: Eagerness;
  /** Whether speaking interrupts the answer. */
  interrupts: boolean;
  /** Whether the browser takes echo and noise out of the microphone, and evens out its loudness. */
  clean: boolean;
}

export const DEFAULTS: TalkSettings = {
  link: 'ws',
  voice: '',
  speed: 1,
  instructions: '',
  turns: 'server_vad',
  threshold: 0.5,
  prefixMs: 300,
  silenceMs: 500,
  idleMs: 0,
  eagerness: 'auto',
  interrupts: true,
  clean: true,
};

/** What the protocol allows, by name. */
export const RANGES = {
  speed: { min: 0.25, max: 1.5 },
  threshold: { min: 0, max: 1 },
  prefixMs: { min: 0, max: 2_000 },
  silenceMs: { min: 100, max: 3_000 },
} as const;

/** `idle_timeout_ms` is off, or within these. */
const IDLE = { min: 5_000, max: 30_000 };

/** Characters of instructions; the page's own bound. */
export const MAX_INSTRUCTIONS = 4_000;

/** Settings out of what was kept; whatever does not fit is the default. */
export function parseSettings(kept: string | null): TalkSettings {
  let said: unknown = null;
  try {
    said = JSON.parse(kept ?? 'null');
  } catch {
    // Not ours.
  }
  const given: Fields = isFields(said) ? said : {};
  const oneOf = <T extends string>(name: string, allowed: readonly T[], otherwise: T): T =>
    allowed.find((value) => value === given[name]) ?? otherwise;
  const text = (name: string) => (typeof given[name] === 'string' ? given[name] : '');
  const within = (name: keyof typeof RANGES) => clamp(given[name], RANGES[name], DEFAULTS[name]);
  const idle = given['idleMs'];
  return {
    link: oneOf('link', ['ws', 'webrtc'], DEFAULTS.link),
    voice: text('voice'),
    speed: within('speed'),
    instructions: text('instructions').slice(0, MAX_INSTRUCTIONS),
    turns: oneOf('turns', ['server_vad', 'semantic_vad', 'push'], DEFAULTS.turns),
    threshold: within('threshold'),
    prefixMs: within('prefixMs'),
    silenceMs: within('silenceMs'),
    idleMs: typeof idle === 'number' && idle > 0 ? clamp(idle, IDLE, 0) : 0,
    eagerness: oneOf('eagerness', ['low', 'medium', 'high', 'auto'], DEFAULTS.eagerness),
    interrupts: given['interrupts'] !== false,
    clean: given['clean'] !== false,
  };
}

function clamp(value: unknown, { min, max }: { min: number; max: number }, otherwise: number): number {
  return typeof value === 'number' && Number.isFinite(value) ? Math.min(max, Math.max(min, value)) : otherwise;
}

/** Nothing is written down unless it is asked for; the name leads to the server's own recogniser. */
const TRANSCRIPTION = { model: 'whisper-1' };

/** `session` of `session.update`, as far as it is chosen here. */
export function sessionOf(settings: TalkSettings, { voiceFrozen }: { voiceFrozen: boolean }): Fields {
  const { voice, speed, instructions } = settings;
  const output: Fields = { speed };
  if (voice !== '' && !voiceFrozen) output['voice'] = voice;
  const session: Fields = {
    type: 'realtime',
    audio: { input: { transcription: TRANSCRIPTION, turn_detection: turnDetectionOf(settings) }, output },
  };
  if (instructions.trim() !== '') session['instructions'] = instructions;
  return session;
}

function turnDetectionOf(settings: TalkSettings): Fields | null {
  const acts = { create_response: true, interrupt_response: settings.interrupts };
  switch (settings.turns) {
    case 'push':
      return null;
    case 'semantic_vad':
      return { type: 'semantic_vad', eagerness: settings.eagerness, ...acts };
    case 'server_vad':
      return {
        type: 'server_vad',
        threshold: settings.threshold,
        prefix_padding_ms: settings.prefixMs,
        silence_duration_ms: settings.silenceMs,
        idle_timeout_ms: settings.idleMs === 0 ? null : settings.idleMs,
        ...acts,
      };
  }
}
