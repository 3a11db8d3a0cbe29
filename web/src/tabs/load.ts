// The tab that shows what the server does: asks for its metrics every second while it shows.

import { parseMetrics } from '../metrics/openmetrics.ts';
import { MetricsWindow } from '../metrics/window.ts';
import { PATHS } from '../protocol.ts';
import { byId } from '../ui/dom.ts';
import { LoadView } from '../ui/load.ts';

const EVERY_MS = 1_000;
const TIMEOUT_MS = 4_000;
/** "Lately" in all figures of this tab. */
const SPAN_MS = 60_000;

export class LoadTab {
  readonly #window = new MetricsWindow(SPAN_MS);
  readonly #view = new LoadView();
  readonly #note = byId('load-note', HTMLElement);
  #timer: ReturnType<typeof setTimeout> | null = null;
  #shows = false;

  constructor() {
    // A page that nobody looks at asks nothing.
    document.addEventListener('visibilitychange', () => this.show(this.#shows));
  }

  show(shows: boolean): void {
    this.#shows = shows;
    const asks = shows && !document.hidden;
    if (!asks && this.#timer !== null) {
      clearTimeout(this.#timer);
      this.#timer = null;
    } else if (asks && this.#timer === null) {
      this.#timer = setTimeout(() => void this.#ask(), 0);
    }
  }

  async #ask(): Promise<void> {
    const timer = this.#timer;
    let note: string;
    try {
      const answer = await fetch(PATHS.metrics, { signal: AbortSignal.timeout(TIMEOUT_MS) });
      if (!answer.ok) throw new TypeError(`status ${answer.status}`);
      this.#window.push({ atMs: performance.now(), samples: parseMetrics(await answer.text()) });
      this.#view.show(this.#window);
      note = 'live, every second';
    } catch {
      this.#window.clear();
      note = 'the server does not answer';
    }
    if (this.#note.textContent !== note) this.#note.textContent = note;
    if (timer === this.#timer && timer !== null) this.#timer = setTimeout(() => void this.#ask(), EVERY_MS);
  }
}
