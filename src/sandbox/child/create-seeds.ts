/** The state of `Math.random`: words of 32 bits with a sign. */
export type Seed = ArrayLike<number>;

/** 32-bit words of a state of `Math.random`. */
const SEED_WORDS = 4;
/** Words that are asked of the system at once; it takes as long as for one call. */
const WORDS_AT_ONCE = 1024;
/** First numbers for a fixture, which are dropped: of similar seeds they would be similar. */
const DROPPED = 12;

/**
 * Gives the state of `Math.random` at the start of a call: from the system's random numbers, or
 * for a fixture from its time in seconds.
 */
export function createSeeds(): (unixNow: number | undefined) => Seed {
  const words = new Int32Array(WORDS_AT_ONCE);
  let at = words.length;
  return (unixNow) => {
    if (unixNow !== undefined) return fixtureSeed(unixNow);
    if (at === words.length) {
      crypto.getRandomValues(words);
      at = 0;
    }
    at += SEED_WORDS;
    return words.subarray(at - SEED_WORDS, at);
  };
}

/** The same generator as in `guestSource`. */
function fixtureSeed(unixNow: number): number[] {
  let [s0, s1, s2, s3] = [unixNow | 0, Math.floor(unixNow / 2 ** 32) | 0, 1, 1];
  for (let i = 0; i < DROPPED; i++) {
    const t = (((s0 + s1) | 0) + s3) | 0;
    s3 = (s3 + 1) | 0;
    s0 = s1 ^ (s1 >>> 9);
    s1 = (s2 + (s2 << 3)) | 0;
    s2 = (((s2 << 21) | (s2 >>> 11)) + t) | 0;
  }
  return [s0, s1, s2, s3];
}
