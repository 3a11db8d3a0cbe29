// How much audio to have before playout starts: as little as has been enough lately.
//
// Each stall says by how much it was too little, and the next prebuffer covers that; each piece of
// speech that was heard without one takes some of it back. So a good network is answered at once
// and a bad one after its first stall.

const LEAST_MS = 40;
const MOST_MS = 800;
/** What is added beyond the stall that was heard, since the next may be longer. */
const MARGIN_MS = 40;
/** What is left of the excess over the least after each piece without a stall. */
const KEPT = 0.8;

export class Prebuffer {
  #ms = LEAST_MS;

  get ms(): number {
    return this.#ms;
  }

  /** A piece of speech was heard, `worstStallMs` being its longest stall; 0 is none. */
  handleHeard(worstStallMs: number): void {
    this.#ms =
      worstStallMs > 0
        ? Math.min(MOST_MS, this.#ms + worstStallMs + MARGIN_MS)
        : LEAST_MS + (this.#ms - LEAST_MS) * KEPT;
  }
}
