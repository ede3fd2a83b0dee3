import { randomAlnum, sha256Hex } from '../../kernel/index.ts';

/** `sk-` and 48 letters and digits, 285 random bits. */
const KEY_LENGTH = 48;
/** `sk-` and eight characters stay readable; 238 bits stay secret. */
const PREFIX_LENGTH = 11;

/** `text` is shown once; `hash` and `prefix` are stored. */
export function newApiKey(): { text: string; hash: string; prefix: string } {
  const text = `sk-${randomAlnum(KEY_LENGTH)}`;
  return { text, hash: sha256Hex(text), prefix: text.slice(0, PREFIX_LENGTH) };
}
