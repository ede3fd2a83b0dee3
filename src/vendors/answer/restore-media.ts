import { BASE64_KEEP } from './cut-base64.ts';

const QUOTE = 0x22;

/**
 * A `data:` URL whose media were cut, with the whole media: they begin with the same characters in
 * the answer, and end with its text. Any other URL stays.
 */
export function restoreMedia(url: string, uncut: Uint8Array): string {
  const comma = url.indexOf(',');
  const kept = url.slice(comma + 1);
  if (!/^data:/i.test(url) || kept.length < BASE64_KEEP / 2 || kept.length > BASE64_KEEP) return url;
  const answer = Buffer.from(uncut.buffer, uncut.byteOffset, uncut.byteLength);
  // Some encoders of JSON escape slashes.
  const escaped = answer.indexOf(kept.replaceAll('/', '\\/'));
  const start = escaped < 0 ? answer.indexOf(kept) : escaped;
  const end = start < 0 ? -1 : answer.indexOf(QUOTE, start);
  if (end < 0) return url;
  const media = answer.toString('latin1', start, end);
  const plain = media.includes('\\') ? media.replaceAll('\\/', '/').replace(/\\[rn]/g, '') : media;
  return url.slice(0, comma + 1) + plain;
}
