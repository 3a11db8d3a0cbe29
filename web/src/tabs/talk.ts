// The tab to talk in: joins the conversation with the microphone, the loudspeaker, the form and the
// views, and draws by the clock.

import { listMicrophones, Microphone, MicrophoneError, StreamListener } from '../audio/microphone.ts';
import { Playout } from '../audio/playout.ts';
import { currentKey } from '../key.ts';
import { PCM_RATE } from '../protocol.ts';
import { claimTalk, type Claim } from '../realtime/claim.ts';
import { Talk, type Floor } from '../realtime/talk.ts';
import { openWebRtcLink } from '../realtime/webrtc.ts';
import { openWebSocketLink } from '../realtime/websocket.ts';
import { fetchGraph, ServerError, type Offer } from '../server.ts';
import { byId } from '../ui/dom.ts';
import { Lines } from '../ui/lines.ts';
import { Ribbon } from '../ui/ribbon.ts';
import { TalkFigures } from '../ui/talk-figures.ts';
import { TalkForm } from '../ui/talk-form.ts';
import { TalkView, type TalkShown } from '../ui/talk-view.ts';
import { WalkView } from '../ui/walk.ts';
import { Waterfall } from '../ui/waterfall.ts';

const FLOOR: Record<Floor, string> = {
  nobody: 'Listening',
  user: 'You are speaking',
  thinking: 'Thinking',
  assistant: 'Speaking',
};

/** How often a piece of sound moves along the drawing; every frame would be a blur. */
const DRAWN_EVERY_MS = 240;

export class TalkTab {
  readonly #playout = new Playout();
  readonly #talk: Talk;
  readonly #form: TalkForm;
  readonly #view: TalkView;
  readonly #ribbon = new Ribbon();
  readonly #lines = new Lines();
  readonly #waterfall = new Waterfall();
  readonly #figures = new TalkFigures();
  readonly #walk = new WalkView(byId('talk-walk-card', HTMLElement));
  readonly #voice = new Audio();
  #voiceListener: StreamListener | null = null;
  #microphone: Microphone | null = null;
  /** What the last conversation held is being given back. */
  #released: Promise<void> = Promise.resolve();
  #claim: Claim | null = null;
  #models: string[] = [];
  #graph = '';
  #muted = false;
  /** The start that is under way, while the microphone is being asked for. */
  #starting: symbol | null = null;
  /** Why there is no microphone, or no conversation; in words. */
  #trouble: string | null = null;
  #unreachable: string | null = null;
  #frame: number | null = null;
  #drawnMs = { in: 0, out: 0 };
  #cuts = 0;

  constructor() {
    this.#talk = new Talk({
      open: { ws: openWebSocketLink, webrtc: openWebRtcLink },
      speaker: this.#playout,
      voice: (stream) => void this.#hear(stream),
      now: () => performance.now(),
      random: Math.random,
      after: (ms, act) => {
        const timer = setTimeout(act, ms);
        return () => clearTimeout(timer);
      },
      changed: () => this.#changed(),
    });
    this.#form = new TalkForm({ changed: () => this.#settingsChanged(), microphoneChosen: () => void this.#microphoneChosen() });
    this.#view = new TalkView({
      connect: () => void (this.#running ? this.#hangUp() : this.#start()),
      retry: () => this.#talk.retryNow(),
      mute: () => this.#mute(),
      stop: () => this.#talk.interrupt(),
      say: (text) => this.#talk.sendText(text),
      press: () => this.#press(),
      release: () => this.#talk.release(),
    });
    this.#playout.onReport = () => this.#talk.handlePlayout();
    this.#voice.autoplay = true;
    navigator.mediaDevices?.addEventListener('devicechange', () => void this.#listDevices());
    // A page that is left hangs up; the server need not find out by itself.
    addEventListener('pagehide', () => this.#talk.stop());
    void this.#listDevices();
    this.#show();
  }

  offer({ talk, voices }: Offer): void {
    this.#models = talk;
    this.#unreachable = null;
    this.#form.offer(talk, voices);
    this.#showAbsence();
    void this.#showGraph();
    this.#show();
  }

  /** The server is not there, and `message` says why. */
  unavailable(message: string): void {
    this.#unreachable = message;
    this.#show();
  }

  get #track(): MediaStreamTrack | null {
    return this.#microphone?.track ?? null;
  }

  get #running(): boolean {
    return this.#talk.state !== 'idle' || this.#starting !== null;
  }

  async #start(): Promise<void> {
    const start = (this.#starting = Symbol('start'));
    // Whoever hangs up while the browser asks for the microphone wants none of what follows.
    const wanted = () => this.#starting === start;
    this.#trouble = null;
    this.#show();
    try {
      await this.#release();
      if (wanted()) await this.#claimTalk(wanted);
      if (wanted()) await this.#playout.prepare(PCM_RATE);
      if (wanted()) await this.#openMicrophone(wanted);
      if (!wanted()) return;
      this.#walk.reset();
      this.#talk.start({
        model: this.#form.model,
        key: currentKey(),
        settings: this.#form.settings,
        microphone: this.#track,
      });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#trouble = `The audio output cannot be opened: ${reason}.`;
      void this.#release();
    } finally {
      if (wanted()) this.#starting = null;
      // Hung up on the way.
      else if (!this.#running) void this.#release();
      this.#show();
    }
  }

  /** Two tabs that talk would hear each other, so one at a time has the floor. */
  async #claimTalk(wanted: () => boolean): Promise<void> {
    let claim: Claim | null = null;
    claim = await claimTalk(() => {
      // One that was given back already takes nothing with it.
      if (this.#claim !== claim) return;
      this.#claim = null;
      void this.#hangUp();
      this.#trouble = 'The conversation was taken over by another tab of this page.';
      this.#show();
    });
    if (wanted()) this.#claim = claim;
    else claim.release();
  }

  async #hangUp(): Promise<void> {
    this.#starting = null;
    this.#talk.stop();
    await this.#release();
    this.#show();
  }

  /** Gives back what a conversation holds; what was begun before is waited for. */
  #release(): Promise<void> {
    this.#claim?.release();
    this.#claim = null;
    const microphone = this.#microphone;
    this.#microphone = null;
    this.#released = this.#released.then(async () => {
      await microphone?.close();
      await this.#playout.close();
    });
    return this.#released;
  }

  /** Without a microphone one can still type, so its absence is told and all goes on. */
  async #openMicrophone(wanted: () => boolean): Promise<void> {
    try {
      const microphone = await Microphone.open(
        { deviceId: this.#form.device, clean: this.#form.settings.clean },
        (samples, rms) => this.#heard(samples, rms),
        () => this.#microphoneLost(),
      );
      if (!wanted()) {
        await microphone.close();
        return;
      }
      this.#microphone = microphone;
      this.#applyMute();
      void this.#listDevices();
    } catch (error) {
      if (!(error instanceof MicrophoneError)) throw error;
      this.#trouble = error.message;
    }
  }

  #microphoneLost(): void {
    void this.#microphone?.close();
    this.#microphone = null;
    this.#trouble = 'The microphone is gone. Plug it in and choose it in the settings, or type instead.';
    this.#show();
  }

  async #microphoneChosen(): Promise<void> {
    if (!this.#running) return;
    // A link that carries audio is bound to its microphone.
    if (this.#talk.settings?.link === 'webrtc') {
      this.#trouble = 'What was chosen for the microphone holds from the next conversation on.';
    } else {
      this.#trouble = null;
      await this.#microphone?.close();
      this.#microphone = null;
      await this.#openMicrophone(() => this.#running && this.#microphone === null);
      this.#talk.handleMicrophoneChanged(this.#track);
    }
    this.#show();
  }

  async #listDevices(): Promise<void> {
    this.#form.offerDevices(await listMicrophones());
  }

  #heard(samples: Int16Array, rms: number): void {
    this.#ribbon.heardIn(rms);
    this.#talk.handleMicrophone(samples, rms);
    this.#drawPiece('in', rms);
  }

  /** The answer as a stream: it is played by the browser and listened to for its level. */
  async #hear(stream: MediaStream | null): Promise<void> {
    const listener = this.#voiceListener;
    this.#voiceListener = null;
    this.#voice.srcObject = stream;
    await listener?.close();
    if (stream === null) return;
    await this.#voice.play().catch(() => undefined);
    const opened = await StreamListener.open(stream, (_samples, rms) => {
      this.#ribbon.heardOut(rms);
      this.#talk.handleVoiceLevel(rms);
      this.#drawPiece('out', rms);
    });
    if (this.#voice.srcObject === stream) this.#voiceListener = opened;
    else await opened.close();
  }

  #mute(): void {
    this.#muted = !this.#muted;
    this.#applyMute();
    this.#show();
  }

  #press(): void {
    this.#talk.press();
    this.#applyMute();
  }

  /** On a link that carries audio, the button opens the microphone itself. */
  #applyMute(): void {
    if (this.#microphone === null) return;
    const { settings } = this.#talk;
    const closed = settings?.turns === 'push' && settings.link === 'webrtc' && !this.#talk.held;
    this.#microphone.muted = this.#muted || closed;
  }

  #settingsChanged(): void {
    this.#talk.update(this.#form.settings);
    this.#applyMute();
    void this.#showGraph();
    this.#show();
  }

  #changed(): void {
    this.#applyMute();
    if (this.#talk.state === 'idle' && this.#starting === null && this.#claim !== null) void this.#release();
    this.#show();
    this.#animate();
  }

  /** A piece of sound moves along the drawing where it is loud enough to be speech. */
  #drawPiece(way: 'in' | 'out', rms: number): void {
    const nowMs = performance.now();
    if (rms < 0.01 || this.#talk.state !== 'talking' || nowMs - this.#drawnMs[way] < DRAWN_EVERY_MS) return;
    this.#drawnMs[way] = nowMs;
    if (way === 'in') this.#walk.entered('audio', nowMs);
    else this.#walk.arrived('audio', nowMs);
  }

  #animate(): void {
    if (this.#frame !== null) return;
    const step = (nowMs: number) => {
      this.#frame = null;
      const moving = this.#draw(nowMs);
      if (moving || this.#running) this.#frame = requestAnimationFrame(step);
    };
    this.#frame = requestAnimationFrame(step);
  }

  #draw(nowMs: number): boolean {
    const heard = this.#talk.playing.heard(nowMs);
    if (heard !== null) {
      this.#ribbon.heardOut(heard.rms);
      this.#drawPiece('out', heard.rms);
    }
    const cuts = this.#talk.conversation.entries.filter(({ state }) => state === 'cut').length;
    if (cuts > this.#cuts) this.#ribbon.cut();
    this.#cuts = cuts;
    this.#ribbon.tick(nowMs);
    this.#lines.show(this.#talk.conversation, heard);
    this.#view.show(this.#shown());
    return this.#walk.tick(nowMs);
  }

  #show(): void {
    const { turns, playing } = this.#talk;
    const byBrowser = (this.#talk.settings ?? this.#form.settings).link === 'webrtc';
    this.#view.show(this.#shown());
    this.#form.show(this.#running, this.#talk.playing.active);
    this.#lines.show(this.#talk.conversation, playing.heard(performance.now()));
    this.#waterfall.show(turns);
    this.#figures.show(turns, playing.stalls, byBrowser ? null : playing.prebufferMs);
    const { dataset } = document.body;
    dataset['talk'] = this.#talk.state;
    dataset['floor'] = this.#talk.floor;
  }

  #shown(): TalkShown {
    const { state, notice, floor, held, answering } = this.#talk;
    const off = this.#models.length === 0 || (this.#unreachable !== null && state === 'idle');
    return {
      state: state === 'idle' && this.#starting !== null ? 'opening' : state === 'idle' && off ? 'off' : state,
      title: this.#title(floor),
      detail: this.#detail(),
      notice: notice ?? this.#trouble ?? (state === 'idle' ? this.#unreachable : null),
      microphone: this.#microphone !== null,
      muted: this.#muted,
      push: (this.#talk.settings ?? this.#form.settings).turns === 'push',
      held,
      answering,
    };
  }

  #title(floor: Floor): string {
    const { state, settings, retryAtMs } = this.#talk;
    if (this.#starting !== null && state === 'idle') return 'Asking for the microphone…';
    if (state === 'idle') return 'Not connected';
    if (state === 'opening') return 'Connecting…';
    if (state === 'waiting') {
      const seconds = Math.max(1, Math.ceil(((retryAtMs ?? 0) - performance.now()) / 1000));
      return `Trying again in ${seconds} s`;
    }
    if (floor !== 'nobody') return FLOOR[floor];
    if (this.#microphone === null) return 'Ready for what you type';
    if (this.#muted) return 'Muted';
    return settings?.turns === 'push' ? 'Ready when you hold the button' : FLOOR.nobody;
  }

  #detail(): string {
    const { state, session, settings, droppedMs } = this.#talk;
    if (state !== 'talking') return '';
    const by = settings?.link === 'webrtc' ? 'WebRTC' : 'WebSocket';
    const dropped = droppedMs > 0 ? `, ${(droppedMs / 1000).toFixed(1)} s not sent` : '';
    return [session?.model, session?.voice, by].filter((part) => part != null && part !== '').join(' · ') + dropped;
  }

  #showAbsence(): void {
    const absent = this.#models.length === 0;
    byId('talk-absent', HTMLElement).hidden = !absent;
    for (const id of ['talk-card', 'talk-side', 'talk-walk-card']) byId(id, HTMLElement).hidden = absent;
    byId('talk-absent-why', HTMLElement).textContent =
      'A conversation needs a model that listens, one that thinks and one that speaks. This server was started without them.';
    byId('talk-absent-how', HTMLElement).textContent = 'promenade serve';
  }

  async #showGraph(): Promise<void> {
    const { model } = this.#form;
    if (model === '' || model === this.#graph) return;
    this.#graph = model;
    try {
      const graph = await fetchGraph(model);
      if (this.#form.model === model) this.#walk.show(graph);
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      this.#graph = '';
      this.#walk.showMissing(`No drawing: ${error.message}`);
    }
  }
}
