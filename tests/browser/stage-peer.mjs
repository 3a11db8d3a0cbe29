// The other end of a WebRTC call: a page of a browser, which has all of WebRTC, plays the server's
// part. Its events go through the stage's script; its voice is a tone while an answer runs.

import { EventEmitter } from 'node:events';

export class StagePeer {
  #page;
  #sockets = new Map();

  /** `browser` is another one than the caller's, so that nothing is shared. */
  static async open(browser) {
    const peer = new StagePeer();
    const context = await browser.newContext();
    peer.#page = await context.newPage();
    await peer.#page.exposeFunction('heard', (call, kind, data) => peer.#sockets.get(call)?.emit(kind, data));
    await peer.#page.evaluate(install);
    return peer;
  }

  /** Answers an offer; `begin` makes the session of its events. */
  async answer(sdp, begin) {
    const call = this.#sockets.size + 1;
    const socket = new CallSocket(this.#page, call);
    this.#sockets.set(call, socket);
    const session = begin(socket);
    socket.once('open', () => session.begin());
    socket.on('level', ([rms, ms]) => session.listen(rms, ms));
    return this.#page.evaluate(([call, sdp]) => globalThis.answerCall(call, sdp), [call, sdp]);
  }

  async close() {
    await this.#page.context().close();
  }
}

/** What a session needs of a socket, over the data channel. */
class CallSocket extends EventEmitter {
  carriesAudio = true;
  #page;
  #call;

  constructor(page, call) {
    super();
    this.#page = page;
    this.#call = call;
  }

  send(frame) {
    void this.#page.evaluate(([call, frame]) => globalThis.sendTo(call, frame), [this.#call, frame]).catch(() => undefined);
  }

  terminate() {
    void this.#page.evaluate((call) => globalThis.hangUp(call), this.#call).catch(() => undefined);
    this.emit('close');
  }
}

/** Runs in the peer's page. */
function install() {
  const calls = new Map();
  globalThis.answerCall = async (call, sdp) => {
    const peer = new RTCPeerConnection();
    const context = new AudioContext();
    const [tone, gain, out] = [context.createOscillator(), context.createGain(), context.createMediaStreamDestination()];
    tone.frequency.value = 330;
    gain.gain.value = 0;
    tone.connect(gain).connect(out);
    tone.start();
    const state = { peer, context, gain, channel: null };
    calls.set(call, state);
    peer.ondatachannel = ({ channel }) => {
      state.channel = channel;
      channel.onopen = () => globalThis.heard(call, 'open', null);
      channel.onmessage = ({ data }) => globalThis.heard(call, 'message', data);
      channel.onclose = () => globalThis.heard(call, 'close', null);
      if (channel.readyState === 'open') globalThis.heard(call, 'open', null);
    };
    peer.ontrack = ({ track, streams }) => listen(call, context, streams[0] ?? new MediaStream([track]));
    await peer.setRemoteDescription({ type: 'offer', sdp });
    peer.addTrack(out.stream.getAudioTracks()[0], out.stream);
    await peer.setLocalDescription(await peer.createAnswer());
    for (let i = 0; i < 40 && peer.iceGatheringState !== 'complete'; i++) await new Promise((done) => setTimeout(done, 25));
    return peer.localDescription.sdp;
  };
  globalThis.sendTo = (call, frame) => {
    const { channel, context, gain } = calls.get(call);
    // The tone sounds from the beginning of an answer to its end or its cut.
    const { type } = JSON.parse(frame);
    if (type === 'output_audio_buffer.started') gain.gain.setValueAtTime(0.2, context.currentTime);
    if (type === 'output_audio_buffer.stopped' || type === 'output_audio_buffer.cleared') gain.gain.setValueAtTime(0, context.currentTime);
    if (channel?.readyState === 'open') channel.send(frame);
  };
  globalThis.hangUp = (call) => {
    const { peer, context } = calls.get(call);
    peer.close();
    void context.close();
  };
  function listen(call, context, stream) {
    // Chromium hands a remote stream to Web Audio only while an element plays it.
    const element = new Audio();
    element.muted = true;
    element.srcObject = stream;
    void element.play();
    const analyser = context.createAnalyser();
    analyser.fftSize = 1_024;
    context.createMediaStreamSource(stream).connect(analyser);
    const samples = new Float32Array(analyser.fftSize);
    const timer = setInterval(() => {
      if (context.state === 'closed') return clearInterval(timer);
      analyser.getFloatTimeDomainData(samples);
      const rms = Math.sqrt(samples.reduce((sum, x) => sum + x * x, 0) / samples.length);
      void globalThis.heard(call, 'level', [rms, 40]);
    }, 40);
  }
}
