// Wires the page and starts it.

import { App } from './app.ts';

void new App().connect();
