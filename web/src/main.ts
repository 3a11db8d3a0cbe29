// Wires the page and starts it.

import { Page } from './page.ts';

void new Page().connect();
