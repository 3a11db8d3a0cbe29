// The microphone, and any other stream that is listened to: frames of 20 ms at 24 kHz, and how
// loud they are.

import { CAPTURE_PROCESSOR } from './messages.ts';
import { rmsOf } from './pcm.ts';

const WORKLET_URL = new URL('capture-worklet.js', import.meta.url);

export type HandleFrame = (samples: Int16Array, rms: number) => void;

/** Listens to a stream that somebody else owns. */
export class StreamListener {
  readonly #context: AudioContext;
  readonly #source: MediaStreamAudioSourceNode;
  readonly #node: AudioWorkletNode;

  private constructor(context: AudioContext, stream: MediaStream, handle: HandleFrame) {
    this.#context = context;
    this.#source = context.createMediaStreamSource(stream);
    this.#node = new AudioWorkletNode(context, CAPTURE_PROCESSOR, { numberOfInputs: 1, numberOfOutputs: 1 });
    this.#node.port.onmessage = (event: MessageEvent<Int16Array>) => handle(event.data, rmsOf(event.data));
    // Its output is silence; a browser runs what leads to the loudspeaker.
    this.#source.connect(this.#node).connect(context.destination);
  }

  static async open(stream: MediaStream, handle: HandleFrame): Promise<StreamListener> {
    const context = new AudioContext({ latencyHint: 'interactive' });
    try {
      await context.audioWorklet.addModule(WORKLET_URL);
      if (context.state === 'suspended') await context.resume();
      return new StreamListener(context, stream, handle);
    } catch (error) {
      await context.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#node.port.onmessage = null;
    this.#source.disconnect();
    this.#node.disconnect();
    await this.#context.close();
  }
}

/** A microphone that cannot be had; the message says why, and what helps. */
export class MicrophoneError extends Error {
  override name = 'MicrophoneError';
}

export interface MicrophoneChoice {
  /** Empty: the usual one. */
  deviceId: string;
  /** Whether the browser takes echo and noise out, and evens out the loudness. */
  clean: boolean;
}

export class Microphone {
  readonly track: MediaStreamTrack;
  readonly #listener: StreamListener;

  private constructor(track: MediaStreamTrack, listener: StreamListener) {
    this.track = track;
    this.#listener = listener;
  }

  /** Asks for the microphone; `ended` is called if it goes away. */
  static async open(choice: MicrophoneChoice, handle: HandleFrame, ended: () => void): Promise<Microphone> {
    const stream = await ask(choice);
    const track = stream.getAudioTracks()[0];
    if (track === undefined) throw new MicrophoneError(NONE);
    try {
      const listener = await StreamListener.open(stream, handle);
      track.onended = ended;
      return new Microphone(track, listener);
    } catch (error) {
      track.stop();
      throw error;
    }
  }

  /** A muted microphone gives silence, so that the time of the conversation goes on. */
  set muted(muted: boolean) {
    this.track.enabled = !muted;
  }

  async close(): Promise<void> {
    this.track.onended = null;
    this.track.stop();
    await this.#listener.close();
  }
}

/** The microphones that there are; without names until the reader has allowed one. */
export async function listMicrophones(): Promise<{ id: string; name: string }[]> {
  const devices = (await navigator.mediaDevices?.enumerateDevices()) ?? [];
  return devices
    .filter(({ kind, deviceId }) => kind === 'audioinput' && deviceId !== '' && deviceId !== 'default')
    .map(({ deviceId, label }, index) => ({ id: deviceId, name: label || `Microphone ${index + 1}` }));
}

const NONE = 'No microphone was found. Plug one in, or type instead.';

async function ask({ deviceId, clean }: MicrophoneChoice): Promise<MediaStream> {
  if (navigator.mediaDevices === undefined) {
    throw new MicrophoneError(
      'A browser gives the microphone only to pages from https or from this very machine (localhost). You can type instead.',
    );
  }
  const wanted = { echoCancellation: clean, noiseSuppression: clean, autoGainControl: clean };
  const device = deviceId === '' ? {} : { deviceId: { exact: deviceId } };
  try {
    return await navigator.mediaDevices.getUserMedia({ audio: { ...wanted, ...device } });
  } catch (error) {
    throw new MicrophoneError(inWords(error instanceof DOMException ? error.name : ''));
  }
}

function inWords(name: string): string {
  switch (name) {
    case 'NotAllowedError':
    case 'SecurityError':
      return 'The microphone is not allowed. Allow it beside the address of this page, then connect again. You can type instead.';
    case 'NotFoundError':
      return NONE;
    case 'OverconstrainedError':
      return 'The chosen microphone is gone. Choose another one, or type instead.';
    case 'NotReadableError':
      return 'The microphone is in use by another program, or the system keeps it. You can type instead.';
    default:
      return 'The microphone could not be opened. You can type instead.';
  }
}
