// The few things that the platform's DOM lacks for us.

/** The element of that id, checked to be of `kind`. The page's own HTML is the only source of ids. */
export function byId<T extends Element>(id: string, kind: new () => T): T {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new Error(`the page has no ${kind.name} #${id}`);
  return element;
}

/** The part of `root` that the page's HTML marks as `data-part="name"`. */
export function partOf(root: HTMLElement, name: string): HTMLElement {
  const part = root.querySelector(`[data-part="${name}"]`);
  if (!(part instanceof HTMLElement)) throw new Error(`#${root.id} has no part "${name}"`);
  return part;
}

export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Record<string, string> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export function svg<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Record<string, string | number> = {},
  ...children: (Node | string)[]
): SVGElementTagNameMap[K] {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

/** Offers `values`; what was chosen stays chosen, if it is still there. */
export function fillSelect(select: HTMLSelectElement, values: readonly (string | { value: string; name: string })[]): void {
  const chosen = select.value;
  const options = values.map((value) => (typeof value === 'string' ? { value, name: value } : value));
  select.replaceChildren(...options.map(({ value, name }) => element('option', { value }, name)));
  if (options.some(({ value }) => value === chosen)) select.value = chosen;
}
