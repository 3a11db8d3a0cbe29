// Where playout stands between two reports of the audio thread, and when a sample was heard.
//
// The audio thread reports 50 times a second and the screen draws 60 times, so the position is
// carried forward from the last report. It never runs past what has been received.

/** One report of the audio thread, in samples of the context's rate and milliseconds of the page. */
export interface Report {
  playing: boolean;
  /** Samples played by then. */
  played: number;
  /** Page time at which the sample after the last played one is heard. */
  heardAtMs: number;
}

/** The sample that is being heard at `nowMs`, between 0 and `received`. */
export function heardSample(report: Report | null, nowMs: number, rate: number, received: number): number {
  if (report === null) return 0;
  const ahead = ((nowMs - report.heardAtMs) * rate) / 1000;
  // While playing the position moves with the clock; once stopped it only catches up with what is
  // still on its way to the loudspeaker.
  const sample = report.playing ? report.played + ahead : report.played + Math.min(0, ahead);
  return Math.max(0, Math.min(received, sample));
}

/** How the context's clock relates to the page's, as `AudioContext.getOutputTimestamp` gives it. */
export interface Clock {
  contextSeconds: number;
  pageMs: number;
}

/** The page time at which the context's sample `frame` is heard. */
export function pageMsFromFrame(frame: number, rate: number, clock: Clock): number {
  return clock.pageMs + (frame / rate - clock.contextSeconds) * 1000;
}
