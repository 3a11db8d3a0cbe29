// One tab of this page talks at a time: two would hear each other. The newest has the floor, and
// the one before it is told.
//
// Web Locks do this so that a tab that crashes holds nothing. Where a browser has none, tabs do not
// know of each other.

const NAME = 'promenade-talk';

export interface Claim {
  release(): void;
}

/** Takes the floor; `lost` is called once another tab takes it. */
export async function claimTalk(lost: () => void): Promise<Claim> {
  const locks: LockManager | undefined = navigator.locks;
  if (locks === undefined) return { release: () => undefined };
  let release: () => void = () => undefined;
  let released = false;
  const held = new Promise<void>((done) => {
    release = () => {
      released = true;
      done();
    };
  });
  await new Promise<void>((granted) => {
    const request = locks.request(NAME, { steal: true }, () => {
      granted();
      return held;
    });
    // A lock that is stolen ends with an error.
    request.catch(() => {
      granted();
      if (!released) lost();
    });
  });
  return { release };
}
