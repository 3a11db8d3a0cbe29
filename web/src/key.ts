// The key that opens the server, where it wants one. It lives as long as the tab.

const NAME = 'promenade-key';

let key: string | null = read();

export function currentKey(): string | null {
  return key;
}

/** An empty key is none. */
export function setKey(value: string): void {
  key = value.trim() === '' ? null : value.trim();
  try {
    if (key === null) sessionStorage.removeItem(NAME);
    else sessionStorage.setItem(NAME, key);
  } catch {
    // Storage may be forbidden; the key then lives until the page is left.
  }
}

/** Headers that show a key; the current one where none is given. */
export function keyHeaders(shown = key): Record<string, string> {
  return shown === null ? {} : { authorization: `Bearer ${shown}` };
}

/** Sub-protocols that show the key, for a socket, which cannot have headers. */
export function keyProtocols(shown = key): string[] {
  return shown === null ? [] : ['realtime', `openai-insecure-api-key.${shown}`];
}

function read(): string | null {
  try {
    return sessionStorage.getItem(NAME);
  } catch {
    return null;
  }
}
