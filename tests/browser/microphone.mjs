// What the browser hears in place of a microphone: a recording that it plays over and over. Two
// utterances with pauses, the second one while an answer to the first is still being heard.
//
// The voice is made here: a pitch that moves, many harmonics and a rhythm of syllables, so that a
// browser's noise suppression takes it for speech.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const RATE = 48_000;
/** Seconds: silence, speech, silence, speech, and silence until it begins again. */
const SCORE = [
  ['silence', 1],
  ['speech', 1.25],
  ['silence', 2.5],
  ['speech', 1.25],
  ['silence', 12],
];

export class Microphone {
  flags;

  static async record(folder) {
    const samples = SCORE.flatMap(([kind, seconds]) => (kind === 'speech' ? speech(seconds) : silence(seconds)));
    return Microphone.#from(folder, 'made.wav', Int16Array.from(samples), RATE);
  }

  /** Plays `parts` at `rate`: numbers are seconds of silence, the rest is samples. */
  static async play(folder, name, parts, rate) {
    const samples = parts.flatMap((part) => (typeof part === 'number' ? Array(Math.round(part * rate)).fill(0) : [...part]));
    return Microphone.#from(folder, name, Int16Array.from(samples), rate);
  }

  static async #from(folder, name, samples, rate) {
    const path = join(folder, name);
    await writeFile(path, wav(samples, rate));
    const microphone = new Microphone();
    microphone.flags = [
      '--use-fake-device-for-media-stream',
      `--use-file-for-fake-audio-capture=${path}`,
      '--autoplay-policy=no-user-gesture-required',
    ];
    return microphone;
  }
}

function silence(seconds) {
  return Array.from({ length: RATE * seconds }, (_, i) => ((i * 7919) % 41) - 20);
}

function speech(seconds) {
  let phase = 0;
  return Array.from({ length: RATE * seconds }, (_, i) => {
    const time = i / RATE;
    phase += (120 + 25 * Math.sin(2 * Math.PI * 1.3 * time)) / RATE;
    let wave = 0;
    for (let h = 1; h < 16; h++) wave += (Math.sin(2 * Math.PI * h * phase) / h) * (1 + Math.sin(h * 3 + time * 9));
    const syllables = 0.5 - 0.5 * Math.cos(2 * Math.PI * 4 * time);
    return Math.max(-32767, Math.min(32767, wave * syllables * 3_500));
  });
}

function wav(samples, rate) {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + samples.byteLength, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36);
  head.writeUInt32LE(samples.byteLength, 40);
  return Buffer.concat([head, Buffer.from(samples.buffer)]);
}
