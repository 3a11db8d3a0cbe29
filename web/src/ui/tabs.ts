// The tabs: one panel shows at a time, and the address says which (`#talk`, `#speak`, `#load`).
//
// Arrow keys move between tabs, as the pattern for tabs asks; Tab goes on into the panel.

import { byId } from './dom.ts';

export const TABS = ['talk', 'speak', 'load'] as const;
export type TabName = (typeof TABS)[number];

export class Tabs {
  readonly #buttons = TABS.map((name) => byId(`tab-${name}`, HTMLButtonElement));
  readonly #panels = TABS.map((name) => byId(`panel-${name}`, HTMLElement));
  readonly #shown: (name: TabName) => void;
  #current: TabName | null = null;

  /** `shown` is called when another tab shows. */
  constructor(shown: (name: TabName) => void) {
    this.#shown = shown;
    this.#buttons.forEach((button, index) => {
      button.addEventListener('click', () => this.choose(TABS[index]!));
      button.addEventListener('keydown', (event) => this.#key(event, index));
    });
    addEventListener('hashchange', () => {
      const name = named();
      if (name !== null) this.#show(name);
    });
  }

  get current(): TabName | null {
    return this.#current;
  }

  /** Shows the tab of the address, or `otherwise` where it names none. */
  start(otherwise: TabName): void {
    if (this.#current === null) this.#show(named() ?? otherwise);
  }

  choose(name: TabName): void {
    history.replaceState(null, '', `#${name}`);
    this.#show(name);
  }

  #show(name: TabName): void {
    if (name === this.#current) return;
    this.#current = name;
    TABS.forEach((tab, index) => {
      const button = this.#buttons[index]!;
      button.setAttribute('aria-selected', String(tab === name));
      button.tabIndex = tab === name ? 0 : -1;
      this.#panels[index]!.hidden = tab !== name;
    });
    document.body.dataset['tab'] = name;
    this.#shown(name);
  }

  #key(event: KeyboardEvent, index: number): void {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = (index + step + TABS.length) % TABS.length;
    this.#buttons[next]!.focus();
    this.choose(TABS[next]!);
  }
}

function named(): TabName | null {
  return TABS.find((name) => `#${name}` === location.hash) ?? null;
}
