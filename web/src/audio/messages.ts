// What the page and its audio thread say to each other.

/** To the audio thread. Samples are mono, -1..1, at the context's rate. */
export type ToWorklet =
  | { type: 'open'; take: number; prebuffer: number }
  | { type: 'samples'; take: number; samples: Float32Array }
  | { type: 'end'; take: number }
  | { type: 'stop' };

/**
 * From the audio thread, every few blocks: one array of numbers that is made once and reused, so
 * that the audio thread makes no garbage of its own. The indices are the constants below.
 */
export const REPORT = {
  take: 0,
  state: 1,
  /** The context frame right after the last block of this report. */
  frame: 2,
  played: 3,
  buffered: 4,
  stallCount: 5,
  stalledSamples: 6,
  worstStall: 7,
  energy: 8,
  length: 9,
} as const;

/** States by their number in a report. */
export const STATES = ['idle', 'filling', 'playing', 'stalled', 'ended'] as const;

/** Samples that the audio thread holds at most: 4 s at 24 kHz. The page keeps the rest. */
export const RING_CAPACITY = 96_000;

export const PROCESSOR = 'promenade-playout';

/** What is listened to, whatever the device's rate. */
export const CAPTURE_RATE = 24_000;

/** Samples that the listening audio thread hands over at once: 20 ms, as 16-bit integers. */
export const CAPTURE_FRAME = 480;

export const CAPTURE_PROCESSOR = 'promenade-capture';
