// The page from a folder instead of from the binary, for who changes it: PAGE=../../web/dist.

import { existsSync, readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { connect } from 'node:net';
import { extname, join, resolve } from 'node:path';

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };

/** The file of the page at `url`; null where no folder is named or it has no such file. */
export function pageFile(url) {
  const folder = process.env.PAGE;
  if (!folder) return null;
  const { pathname } = new URL(url, 'http://page');
  const path = resolve(join(folder, pathname === '/' ? 'index.html' : pathname));
  if (!path.startsWith(resolve(folder)) || !existsSync(path) || !extname(path)) return null;
  return { type: TYPES[extname(path)] ?? 'application/octet-stream', bytes: readFileSync(path) };
}

/** Answers with the page's file, or passes the request on to the server at `port`. */
export function serveOrPass(asked, answer, port) {
  const file = asked.method === 'GET' ? pageFile(asked.url) : null;
  if (file !== null) {
    answer.writeHead(200, { 'content-type': file.type });
    answer.end(file.bytes);
    return;
  }
  const headers = { ...asked.headers, host: `127.0.0.1:${port}`, ...(asked.headers.origin ? { origin: `http://127.0.0.1:${port}` } : {}) };
  const passed = request({ host: '127.0.0.1', port, path: asked.url, method: asked.method, headers }, (got) => {
    answer.writeHead(got.statusCode, got.headers);
    got.on('error', () => answer.destroy());
    got.pipe(answer);
  });
  passed.on('error', () => answer.destroy());
  answer.on('close', () => passed.destroy());
  asked.pipe(passed);
}

/** A server before the one at `port` that has the page from the folder; null where none is named. */
export async function pageServer(port) {
  if (!process.env.PAGE) return null;
  const server = createServer((asked, answer) => serveOrPass(asked, answer, port));
  server.on('upgrade', (asked, socket, head) => {
    const passed = connect(port, '127.0.0.1', () => {
      const lines = asked.rawHeaders.flatMap((_, i, all) => (i % 2 === 0 ? [`${all[i]}: ${all[i + 1]}`] : []));
      passed.write(`GET ${asked.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
      passed.write(head);
      socket.pipe(passed).pipe(socket);
    });
    passed.on('error', () => socket.destroy());
    socket.on('error', () => passed.destroy());
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  server.unref();
  return server;
}
