// The tab that speaks a text: joins the form, the doors, the loudspeaker and the views, and draws by
// the clock.
//
// One utterance at a time. Whoever ends it (the server, the reader, an error) ends it here, and the
// door and the loudspeaker are closed with it.

import { Playout } from '../audio/playout.ts';
import type { Take } from '../audio/take.ts';
import { wavFromSamples } from '../audio/wav.ts';
import { figuresOf, formatMs, formatSeconds } from '../figures.ts';
import { PATHS, PCM_RATE, speechBody } from '../protocol.ts';
import { fetchGraph, ServerError, type Offer } from '../server.ts';
import { HttpTransport } from '../transport/http.ts';
import type { Speech, SpeechEvents, Transport } from '../transport/transport.ts';
import { WebSocketTransport } from '../transport/websocket.ts';
import { Typing } from '../typing.ts';
import { byId } from '../ui/dom.ts';
import { Composer, type Activity, type Door } from '../ui/composer.ts';
import { FiguresView } from '../ui/figures.ts';
import { Transcript } from '../ui/transcript.ts';
import { WalkView } from '../ui/walk.ts';
import { Waveform } from '../ui/waveform.ts';
import { Utterance } from '../utterance.ts';

export class SpeakTab {
  readonly #transports: Record<Door, Transport> = {
    ws: new WebSocketTransport(location.origin),
    http: new HttpTransport(),
  };
  readonly #playout = new Playout();
  readonly #composer: Composer;
  readonly #figures = new FiguresView();
  readonly #waveform = new Waveform();
  readonly #transcript = new Transcript();
  readonly #walk = new WalkView(byId('walk', HTMLElement));
  readonly #status = byId('status', HTMLElement);
  /** Asks anew what the server offers. */
  readonly #refresh: () => Promise<void>;
  readonly #curl = byId('curl', HTMLElement);
  #utterance: Utterance | null = null;
  #speech: Speech | null = null;
  #typing: Typing | null = null;
  #replaying = false;
  #activity: Activity = 'loading';
  #frame: number | null = null;
  #model = '';
  #gone = false;

  constructor(refresh: () => Promise<void>) {
    this.#refresh = refresh;
    this.#composer = new Composer({
      speak: () => void this.#speak(),
      stop: () => this.#stop(),
      again: () => void this.#again(),
      save: () => this.#save(),
      typed: () => this.#typed(),
      modelChosen: (model) => void this.#showGraph(model),
      changed: () => this.#showCurl(),
    });
    this.#playout.onReport = () => this.#playoutReported();
  }

  /** The server is there. */
  offer({ models, voices }: Offer): void {
    this.#composer.offer(models, voices);
    if (this.#gone) this.#composer.showError(null);
    this.#gone = false;
    if (models.length === 0) this.#composer.showError('This server has no model that speaks a text.');
    if (this.#activity !== 'speaking') this.#setActivity(models.length === 0 ? 'unavailable' : 'ready');
    this.#showCurl();
    void this.#showGraph(this.#composer.options.model);
  }

  /** The server is not there, and `message` says why. */
  unavailable(message: string): void {
    this.#gone = true;
    this.#composer.showError(message);
    if (this.#activity !== 'speaking') this.#setActivity('unavailable');
  }

  async #speak(): Promise<void> {
    if (this.#activity === 'speaking') {
      this.#finishTyping();
      return;
    }
    const { text, live, door } = this.#composer;
    if (text.trim() === '' && !live) {
      this.#composer.showError('There is no text to say. Type some first.');
      return;
    }
    this.#composer.showError(null);
    this.#replaying = false;
    this.#utterance = null;
    this.#setActivity('speaking');
    this.#status.textContent = 'Asking…';
    if (!(await this.#openDevice(PCM_RATE))) return;
    this.#begin(text, live, this.#transports[door]);
  }

  #begin(text: string, live: boolean, transport: Transport): void {
    this.#walk.reset();
    this.#transcript.clear();
    const utterance = new Utterance(live ? '' : text);
    this.#utterance = utterance;
    const speech = transport.open(this.#composer.options, this.#events(utterance));
    this.#speech = speech;
    if (live) {
      this.#typing = new Typing();
      this.#typed();
    } else {
      this.#typing = null;
      speech.send(text);
      speech.finish();
    }
    this.#animate();
  }

  /** What a door tells us; told to an utterance that is no longer the current one, it is dropped. */
  #events(utterance: Utterance): SpeechEvents {
    const current = (handle: () => void) => {
      if (utterance !== this.#utterance || utterance.over) return;
      handle();
      this.#afterEvent(utterance);
    };
    return {
      sent: () =>
        current(() => {
          utterance.handleSent(performance.now());
          this.#walk.entered('text', performance.now());
        }),
      answered: () => current(() => utterance.handleAnswered(performance.now())),
      started: (rate) =>
        current(() => {
          const first = utterance.take === null;
          utterance.handleStarted(rate);
          if (first && utterance.take !== null) void this.#play(utterance, utterance.take);
        }),
      audio: (bytes) =>
        current(() => {
          utterance.handleAudio(bytes, performance.now());
          this.#walk.arrived('audio', performance.now());
          this.#playout.feed();
        }),
      words: (words) =>
        current(() => {
          utterance.handleWords(words);
          this.#walk.arrived('words', performance.now());
        }),
      done: (serverRtf) => current(() => utterance.handleDone(serverRtf)),
      failed: (message) => current(() => utterance.handleFailed(message)),
    };
  }

  async #play(utterance: Utterance, take: Take): Promise<void> {
    if (!(await this.#openDevice(take.rate))) return;
    if (utterance.state === 'stopped') return;
    this.#playout.open(take, this.#composer.prebufferMs);
    if (utterance.over) this.#playout.end();
  }

  #afterEvent(utterance: Utterance): void {
    if (!utterance.over) {
      if (utterance.state === 'arriving') this.#status.textContent = 'Speaking';
      return;
    }
    this.#speech?.cancel();
    this.#speech = null;
    this.#typing = null;
    if (utterance.state === 'failed') {
      this.#composer.showError(utterance.error);
      void this.#reconnectIfGone();
    }
    this.#playout.end();
    if (utterance.chunkCount === 0) this.#rest();
  }

  /** A failed request may mean that the server is gone; the list of models tells. */
  async #reconnectIfGone(): Promise<void> {
    const said = this.#utterance?.error;
    await this.#refresh();
    if (said !== undefined && said !== null) this.#composer.showError(said);
  }

  #stop(): void {
    this.#speech?.cancel();
    this.#speech = null;
    this.#typing = null;
    this.#utterance?.handleStopped();
    this.#playout.stop();
    this.#rest();
  }

  async #again(): Promise<void> {
    const take = this.#utterance?.take;
    if (take === undefined || take === null || this.#activity === 'speaking') return;
    this.#replaying = true;
    this.#setActivity('speaking');
    this.#status.textContent = 'Playing again';
    if (!(await this.#openDevice(take.rate))) return;
    this.#playout.open(take, 0);
    this.#playout.end();
    this.#animate();
  }

  #save(): void {
    const take = this.#utterance?.take;
    if (take === undefined || take === null) return;
    const wav = wavFromSamples(take.slice(0, take.length), take.rate);
    const url = URL.createObjectURL(new Blob([wav], { type: 'audio/wav' }));
    const link = document.createElement('a');
    link.href = url;
    link.download = 'promenade.wav';
    link.click();
    // The browser has taken the blob by the next turn of its loop, though the standard is silent.
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }

  #typed(): void {
    const typing = this.#typing;
    const utterance = this.#utterance;
    if (typing === null || utterance === null || this.#speech === null) return;
    const piece = typing.next(this.#composer.text);
    if (piece === null) {
      this.#composer.showError('What was sent is being spoken and cannot be changed; add to its end, or press Finish.');
      return;
    }
    this.#composer.showError(null);
    this.#sendTyped(piece);
  }

  #sendTyped(piece: string): void {
    if (piece === '') return;
    this.#utterance?.words.extend(piece);
    this.#speech?.send(piece);
    this.#walk.entered('text', performance.now());
  }

  #finishTyping(): void {
    if (this.#typing === null) return;
    this.#sendTyped(this.#typing.rest(this.#composer.text));
    this.#typing = null;
    this.#speech?.finish();
  }

  /** Whether the device is open and still wanted: the reader may have pressed Stop meanwhile. */
  async #openDevice(rate: number): Promise<boolean> {
    try {
      await this.#playout.prepare(rate);
      return this.#activity === 'speaking';
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#utterance?.handleStopped();
      this.#speech?.cancel();
      this.#composer.showError(`The audio output cannot be opened: ${reason}.`);
      this.#rest();
      // Where the server is gone, that is the better thing to say.
      void this.#refresh();
      return false;
    }
  }

  #playoutReported(): void {
    const { status } = this.#playout;
    document.body.dataset['played'] = String(status.played);
    document.body.dataset['rms'] = status.rms.toFixed(5);
    const over = this.#replaying || (this.#utterance?.over ?? true);
    if (status.state === 'ended' && over && this.#activity === 'speaking') this.#rest();
  }

  /** Nothing speaks any more. */
  #rest(): void {
    this.#setActivity(this.#gone ? 'unavailable' : 'ready');
    this.#draw(performance.now());
    this.#status.textContent = this.#replaying ? 'Played again' : this.#summary();
  }

  #summary(): string {
    const utterance = this.#utterance;
    if (utterance === null) return 'Nothing yet';
    const figures = figuresOf(utterance, this.#playout.status);
    if (utterance.state === 'failed') return 'It went wrong';
    const what = utterance.state === 'stopped' ? 'Stopped' : 'Done';
    if (figures.ttfc === null) return what;
    const { stallCount } = figures;
    const stalls = stallCount === 0 ? 'no stalls' : `${stallCount} stall${stallCount === 1 ? '' : 's'}`;
    return `${what}: ${formatSeconds(figures.audioSeconds)} of audio, first chunk after ${formatMs(figures.ttfc)}, ${stalls}`;
  }

  #setActivity(activity: Activity): void {
    this.#activity = activity;
    const { dataset } = document.body;
    dataset['state'] = activity;
    dataset['outcome'] = activity === 'speaking' ? '' : (this.#utterance?.state ?? '');
    this.#composer.show(activity, (this.#utterance?.take?.length ?? 0) > 0);
  }

  #animate(): void {
    if (this.#frame !== null) return;
    const step = (nowMs: number) => {
      this.#frame = null;
      const moving = this.#draw(nowMs);
      if (moving || this.#activity === 'speaking') this.#frame = requestAnimationFrame(step);
    };
    this.#frame = requestAnimationFrame(step);
  }

  /** Draws everything as it is now; true while something moves by itself. */
  #draw(nowMs: number): boolean {
    const utterance = this.#utterance;
    if (utterance !== null) {
      const { take } = utterance;
      const heard = take === null ? 0 : this.#playout.heard(nowMs, take);
      this.#waveform.show(take, heard, this.#playout.stallPositions);
      this.#transcript.show(utterance.words, take === null ? -1 : heard / take.rate);
      if (!this.#replaying) this.#figures.show(figuresOf(utterance, this.#playout.status));
    }
    return this.#walk.tick(nowMs);
  }

  async #showGraph(model: string): Promise<void> {
    if (model === '' || model === this.#model) return;
    try {
      const graph = await fetchGraph(model);
      if (this.#composer.options.model !== model) return;
      this.#model = model;
      this.#walk.show(graph);
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      this.#walk.showMissing(`No drawing: ${error.message}`);
    }
  }

  #showCurl(): void {
    const body = speechBody(this.#composer.options, this.#composer.text).replaceAll("'", String.raw`'\''`);
    this.#curl.textContent =
      `curl -N ${location.origin}${PATHS.speech} \\\n  -H 'content-type: application/json' \\\n  -d '${body}' \\\n` +
      `  | ffplay -nodisp -autoexit -f s16le -ar ${PCM_RATE} -`;
  }
}
