// The page's colours for a canvas: `light-dark()` is resolved by the browser only where it is used.

const scheme = matchMedia('(prefers-color-scheme: dark)');

/** Reads the colours of those CSS variables now, and calls `changed` with them when they change. */
export function watchColours<Name extends string>(
  canvas: HTMLCanvasElement,
  variables: Record<Name, string>,
  changed: (colours: Record<Name, string>) => void,
): Record<Name, string> {
  const read = () => {
    const colours = {} as Record<Name, string>;
    for (const name of Object.keys(variables) as Name[]) {
      canvas.style.color = `var(${variables[name]})`;
      colours[name] = getComputedStyle(canvas).color;
    }
    canvas.style.color = '';
    return colours;
  };
  scheme.addEventListener('change', () => changed(read()));
  return read();
}

/** Gives a canvas as many pixels as the screen has for it; returns its context in CSS pixels. */
export function fitCanvas(canvas: HTMLCanvasElement): void {
  const { width, height } = canvas.getBoundingClientRect();
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
}
