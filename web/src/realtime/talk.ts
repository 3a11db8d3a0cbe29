// A conversation: joins a link, the microphone's frames, what is played and what is shown, and
// decides what each event means for the others. It knows no DOM, and its clock, timers and links
// are handed in.
//
//   idle ──start──▶ opening ──session.created──▶ talking ──lost──▶ waiting ──▶ opening
//     ▲                └──────────── stop | a fault that will stay ─────────────┘
//
// Whoever speaks over an answer is heard first: the loudspeaker falls silent before the server is
// told how much of the answer was heard.

import { SpeechGate } from '../audio/speech-gate.ts';
import { ProtocolError } from '../protocol.ts';
import { Backoff } from './backoff.ts';
import { Conversation } from './conversation.ts';
import { parseServerEvent, type ServerEvent, type SessionFacts } from './events.ts';
import type { Link, LinkFault, OpenLink } from './link.ts';
import { QUIET, say } from './messages.ts';
import { Playing, type Loudspeaker } from './playing.ts';
import { sessionOf, type LinkKind, type TalkSettings } from './settings.ts';
import { Turns } from './turns.ts';

export type TalkState = 'idle' | 'opening' | 'talking' | 'waiting';

/** Who is doing what, as far as it can be told. */
export type Floor = 'nobody' | 'user' | 'thinking' | 'assistant';

export interface TalkPorts {
  open: Record<LinkKind, OpenLink>;
  speaker: Loudspeaker;
  /** The server's voice as a stream, where the link carries audio; null when it ends. */
  voice(stream: MediaStream | null): void;
  /** Page time in milliseconds. */
  now(): number;
  random(): number;
  /** Calls `act` once after `ms`; what it returns takes that back. */
  after(ms: number, act: () => void): () => void;
  changed(): void;
}

export interface TalkStart {
  model: string;
  key: string | null;
  settings: TalkSettings;
  microphone: MediaStreamTrack | null;
}

/** Bytes that may wait for the network before frames of the microphone are dropped: 3 s of them. */
const MAX_WAITING_BYTES = 192 * 1024;
/** Entries told to a session that begins anew after a loss. */
const PAST_ENTRIES = 20;
/** A button held shorter than this was touched by mistake; servers want 100 ms at least. */
const LEAST_HELD_MS = 200;
/** Sound that is still on its way when the button is let go, beside the events and in them. */
const TAIL_MS = { webrtc: 250, ws: 60 } as const;

export class Talk {
  state: TalkState = 'idle';
  /** Why it is not talking, or what went wrong in it; in words. */
  notice: string | null = null;
  /** When the next try to connect comes, in page time; null otherwise. */
  retryAtMs: number | null = null;
  /** Milliseconds of the microphone that the network did not take. */
  droppedMs = 0;
  session: SessionFacts | null = null;
  readonly conversation = new Conversation();
  readonly turns = new Turns();
  readonly playing: Playing;

  readonly #ports: TalkPorts;
  readonly #backoff = new Backoff();
  readonly #userGate = new SpeechGate();
  readonly #voiceGate = new SpeechGate();
  #start: TalkStart | null = null;
  #link: Link | null = null;
  #cancelRetry: (() => void) | null = null;
  #userSpeaks = false;
  #awaiting = false;
  #responding = false;
  #outputPlays = false;
  #spoken = false;
  #heldSinceMs: number | null = null;
  #releasing: (() => void) | null = null;

  constructor(ports: TalkPorts) {
    this.#ports = ports;
    this.playing = new Playing(ports.speaker);
  }

  get floor(): Floor {
    if (this.state !== 'talking') return 'nobody';
    if (this.#userSpeaks || this.held) return 'user';
    if (this.playing.active || this.#outputPlays) return 'assistant';
    return this.#responding || this.#awaiting ? 'thinking' : 'nobody';
  }

  /** Whether the button to talk is held. */
  get held(): boolean {
    return this.#heldSinceMs !== null;
  }

  /** Whether there is an answer to stop. */
  get answering(): boolean {
    return this.#responding || this.playing.active || this.#outputPlays;
  }

  get settings(): TalkSettings | null {
    return this.#start?.settings ?? null;
  }

  start(start: TalkStart): void {
    this.stop();
    this.#start = start;
    this.#backoff.reset();
    this.droppedMs = 0;
    this.#open();
  }

  /** Ends the conversation; what was said stays. */
  stop(): void {
    this.#cancelRetry?.();
    this.#cancelRetry = null;
    this.retryAtMs = null;
    this.#link?.close();
    this.#ended();
    this.#start = null;
    this.#become('idle', null);
  }

  retryNow(): void {
    if (this.state !== 'waiting') return;
    this.#cancelRetry?.();
    this.#open();
  }

  /** A microphone was plugged in, chosen or lost while the link carries events and audio alike. */
  handleMicrophoneChanged(microphone: MediaStreamTrack | null): void {
    if (this.#start !== null) this.#start = { ...this.#start, microphone };
  }

  /** Settings that can change in a running conversation. */
  update(settings: TalkSettings): void {
    if (this.#start === null) return;
    this.#start = { ...this.#start, settings };
    if (this.state === 'talking') this.#tell(say.session(sessionOf(settings, { voiceFrozen: this.#spoken })));
  }

  /** 20 ms of the microphone at 24 kHz, and how loud they are. */
  handleMicrophone(samples: Int16Array, rms: number): void {
    this.#userGate.handleLevel(rms, this.#ports.now());
    const link = this.#link;
    if (this.state !== 'talking' || link === null || link.carriesAudio || !this.#listens) return;
    if (link.waiting > MAX_WAITING_BYTES) this.droppedMs += (samples.length * 1000) / 24_000;
    else link.send(say.audio(samples));
  }

  /** How loud the server's voice is, where it comes as a stream. */
  handleVoiceLevel(rms: number): void {
    const nowMs = this.#ports.now();
    const before = this.#voiceGate.startMs;
    this.#voiceGate.handleLevel(rms, nowMs);
    const { startMs } = this.#voiceGate;
    if (startMs !== null && startMs !== before && this.answering) this.turns.handleHeard(startMs);
  }

  /** The loudspeaker has reported. */
  handlePlayout(): void {
    const heard = this.playing.firstHeardMs;
    if (heard !== null) this.turns.handleHeard(heard);
    this.playing.handleReport();
    this.#ports.changed();
  }

  /** The button to talk is pressed. */
  press(): void {
    if (this.state !== 'talking' || this.held) return;
    this.#releasing?.();
    this.#releasing = null;
    if (this.answering) this.interrupt();
    this.#tell(say.clear());
    this.#heldSinceMs = this.#ports.now();
    this.notice = null;
    this.#ports.changed();
  }

  /** The button is let go: what was said is the turn. */
  release(): void {
    if (this.#heldSinceMs === null) return;
    const heldMs = this.#ports.now() - this.#heldSinceMs;
    if (heldMs < LEAST_HELD_MS) {
      this.#heldSinceMs = null;
      this.#tell(say.clear());
      this.notice = 'Hold the button while you talk.';
      this.#ports.changed();
      return;
    }
    this.turns.handleSent('button', this.#userGate.endMs ?? this.#ports.now());
    this.#releasing = this.#ports.after(TAIL_MS[this.#link?.kind ?? 'ws'], () => this.#commit());
    this.#ports.changed();
  }

  /** Something typed, said in the user's name. */
  sendText(text: string): void {
    if (this.state !== 'talking' || text.trim() === '') return;
    if (this.answering) this.interrupt();
    this.turns.handleSent('text', this.#ports.now());
    this.#awaiting = true;
    this.notice = null;
    this.#tell(say.text(text.trim()), say.respond());
    this.#ports.changed();
  }

  /** Stops the answer, as a button would. */
  interrupt(): void {
    if (this.#responding) this.#tell(say.cancel());
    if (this.#link?.carriesAudio === true) this.#tell(say.clearOutput());
    this.#silence();
    this.#outputPlays = false;
    this.#ports.changed();
  }

  get #listens(): boolean {
    return this.#start?.settings.turns !== 'push' || this.held;
  }

  #commit(): void {
    this.#releasing = null;
    this.#heldSinceMs = null;
    this.#awaiting = true;
    this.#tell(say.commit(), say.respond());
    this.#ports.changed();
  }

  #open(): void {
    const start = this.#start;
    if (start === null) return;
    this.#cancelRetry = null;
    this.retryAtMs = null;
    this.#become('opening', this.notice);
    let link: Link | null = null;
    // A link that was closed or replaced has nothing more to say.
    const current = <A extends unknown[]>(handle: (...args: A) => void) => {
      return (...args: A) => {
        if (link !== null && link === this.#link) handle(...args);
      };
    };
    link = this.#ports.open[start.settings.link](start, {
      opened: () => undefined,
      message: current((frame: string) => this.#received(frame)),
      voice: current((stream: MediaStream) => this.#ports.voice(stream)),
      failed: current((fault: LinkFault) => this.#failed(fault)),
    });
    this.#link = link;
  }

  #received(frame: string): void {
    let event: ServerEvent;
    try {
      event = parseServerEvent(frame);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.notice = `The server sent something unexpected: ${error.message}.`;
      this.#ports.changed();
      return;
    }
    this.#handle(event);
    this.#ports.changed();
  }

  #handle(event: ServerEvent): void {
    const nowMs = this.#ports.now();
    this.conversation.handle(event);
    this.turns.handle(event, nowMs, this.#userGate.endMs);
    switch (event.type) {
      case 'session.created':
        this.#sessionCreated(event.session);
        break;
      case 'session.updated':
        this.session = event.session;
        break;
      case 'input_audio_buffer.speech_started':
        this.#speechStarted(nowMs);
        break;
      case 'input_audio_buffer.speech_stopped':
        this.#userSpeaks = false;
        this.#awaiting = true;
        break;
      case 'response.created':
        this.#responding = true;
        this.#awaiting = false;
        break;
      case 'response.audio.delta':
        this.#spoken = true;
        this.playing.handleAudio(event.itemId, event.contentIndex, event.bytes);
        break;
      case 'response.audio.done':
        this.playing.handleAudioDone(event.itemId);
        break;
      case 'response.done':
        this.#responding = false;
        this.playing.handleResponseDone();
        if (event.response.status === 'failed') this.notice = event.response.error ?? 'The server could not answer.';
        break;
      case 'output_audio_buffer.started':
        this.#spoken = true;
        this.#outputPlays = true;
        break;
      case 'output_audio_buffer.stopped':
      case 'output_audio_buffer.cleared':
        this.#outputPlays = false;
        break;
      case 'conversation.item.truncated':
        // What was kept of the text is the server's to say.
        this.#tell(say.retrieve(event.itemId));
        break;
      case 'error':
        this.#refused(event);
        break;
    }
  }

  #sessionCreated(session: SessionFacts): void {
    const start = this.#start;
    if (start === null) return;
    this.session = session;
    this.#spoken = false;
    this.#backoff.reset();
    this.#tell(say.session(sessionOf(start.settings, { voiceFrozen: false })));
    for (const { role, text } of this.conversation.past(PAST_ENTRIES)) this.#tell(say.past(role, text));
    this.#become('talking', null);
  }

  #speechStarted(nowMs: number): void {
    this.#userSpeaks = true;
    this.#awaiting = false;
    this.notice = null;
    if (!this.answering || this.#start?.settings.interrupts === false) return;
    this.#silence();
    const began = this.#userGate.startMs;
    if (began !== null) this.turns.handleSilenced(nowMs - began);
  }

  /** Drops what is not heard yet, and says where. */
  #silence(): void {
    for (const { itemId, contentIndex, heardMs } of this.playing.interrupt(this.#ports.now())) {
      this.conversation.cut(itemId, heardMs);
      this.#tell(say.truncate(itemId, contentIndex, heardMs));
    }
  }

  #refused({ message, code, eventId }: { message: string; code: string | null; eventId: string | null }): void {
    if (eventId === QUIET) return;
    this.notice = message;
    // Nothing follows what was asked for.
    this.#awaiting = false;
    if (this.state === 'opening' && code !== null) this.#failed({ message, retry: code === 'session_limit_reached' ? 'soon' : 'no' });
  }

  #failed(fault: LinkFault): void {
    const said = this.state === 'opening' && this.notice !== null && this.#backoff.failures === 0 ? this.notice : fault.message;
    this.#link?.close();
    this.#ended();
    if (fault.retry === 'no' || this.#start === null) {
      this.#start = null;
      this.#become('idle', said);
      return;
    }
    const waitMs = this.#backoff.next(this.#ports.random());
    this.retryAtMs = this.#ports.now() + waitMs;
    this.#cancelRetry = this.#ports.after(waitMs, () => this.#open());
    this.#become('waiting', said);
  }

  /** The session is over, and everything that was on its way in it. */
  #ended(): void {
    this.#link = null;
    this.session = null;
    this.#releasing?.();
    this.#releasing = null;
    this.#heldSinceMs = null;
    this.#userSpeaks = false;
    this.#awaiting = false;
    this.#responding = false;
    this.#outputPlays = false;
    for (const { itemId, heardMs } of this.playing.interrupt(this.#ports.now())) this.conversation.cut(itemId, heardMs);
    this.conversation.handleLost();
    this.#ports.voice(null);
  }

  #become(state: TalkState, notice: string | null): void {
    this.state = state;
    this.notice = notice;
    this.#ports.changed();
  }

  #tell(...frames: string[]): void {
    for (const frame of frames) this.#link?.send(frame);
  }
}
