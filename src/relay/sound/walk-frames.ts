import type { ByteSource } from './byte-source.ts';

/** A frame of sound and the bytes from its beginning to that of the next. */
type Frame = { bytes: number; seconds: number };

const SYNC = 0xff;
const SCANNED = 64 * 1024;
const ID3_BYTES = 10;

/** Kilobits by index, for each layer of MPEG 1 and of MPEG 2. */
const BITRATES = {
  v1: [
    [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
    [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
    [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  ],
  v2: [
    [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
    [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
    [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  ],
} as const;
const MPEG_RATES = [44_100, 48_000, 32_000];
const AAC_RATES = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350];
const FLAC_RATES = [88_200, 176_400, 192_000, 8000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000];

/** A frame of MP3 or of another layer (ISO 11172-3). */
export function readMpegFrame(head: Buffer): Frame | undefined {
  const [sync = 0, second = 0, third = 0] = head;
  if (sync !== SYNC || (second & 0xe0) !== 0xe0) return undefined;
  const version = (second >> 3) & 3;
  const layer = 4 - ((second >> 1) & 3);
  const rate = MPEG_RATES[(third >> 2) & 3];
  const kilobits = BITRATES[version === 3 ? 'v1' : 'v2'][layer - 1]?.[(third >> 4) - 1];
  if (version === 1 || layer === 4 || rate === undefined || kilobits === undefined) return undefined;
  const sampleRate = rate / (version === 3 ? 1 : version === 2 ? 2 : 4);
  const samples = layer === 1 ? 384 : layer === 3 && version !== 3 ? 576 : 1152;
  const padding = (third >> 1) & 1;
  const slots = Math.floor(((samples / (layer === 1 ? 32 : 8)) * kilobits * 1000) / sampleRate) + padding;
  return { bytes: layer === 1 ? slots * 4 : slots, seconds: samples / sampleRate };
}

/** A frame of AAC in ADTS (ISO 13818-7). */
export function readAdtsFrame(head: Buffer): Frame | undefined {
  const [sync = 0, second = 0, third = 0, fourth = 0, fifth = 0, sixth = 0, seventh = 0] = head;
  const rate = AAC_RATES[(third >> 2) & 15];
  const bytes = ((fourth & 3) << 11) | (fifth << 3) | (sixth >> 5);
  if (sync !== SYNC || (second & 0xf6) !== 0xf0 || rate === undefined || bytes < 7) return undefined;
  return { bytes, seconds: (1024 * ((seventh & 3) + 1)) / rate };
}

/**
 * A frame of FLAC (RFC 9639), whose length its head does not tell: `bytes` is that of the head. The
 * check sum makes it unlikely that other bytes look like one.
 */
export function readFlacFrame(head: Buffer): Frame | undefined {
  const [sync = 0, second = 0, third = 0, fourth = 0, number = 0] = head;
  if (sync !== SYNC || (second & 0xfe) !== 0xf8 || fourth >> 4 > 10 || (fourth & 1) === 1) return undefined;
  const sizeCode = third >> 4;
  const rateCode = third & 15;
  let at = 5;
  for (let mask = 0x40; number >= 0xc0 && (number & mask) !== 0 && mask > 1; mask >>= 1) at += 1;
  let samples = sizeCode >= 8 ? 256 << (sizeCode - 8) : sizeCode === 1 ? 192 : 576 << (sizeCode - 2);
  if (sizeCode === 6) samples = (head[at] ?? 0) + 1;
  if (sizeCode === 7) samples = ((head[at] ?? 0) << 8) + (head[at + 1] ?? 0) + 1;
  if (sizeCode === 6 || sizeCode === 7) at += sizeCode - 5;
  let rate = FLAC_RATES[rateCode - 1];
  if (rateCode === 12) rate = (head[at] ?? 0) * 1000;
  if (rateCode >= 13) rate = (((head[at] ?? 0) << 8) + (head[at + 1] ?? 0)) * (rateCode === 14 ? 10 : 1);
  if (rateCode >= 12) at += rateCode === 12 ? 1 : 2;
  if (sizeCode === 0 || rateCode === 15 || crc8(head.subarray(0, at)) !== head[at]) return undefined;
  // For code 0 only the beginning of the file tells; the lowest usual rate stands for it.
  return { bytes: at + 1, seconds: samples / (rate || 8000) };
}

function crc8(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x80 ? ((crc << 1) ^ 0x07) & 0xff : crc << 1;
  }
  return crc;
}

/** A frame's head is no longer. */
const HEAD_BYTES = 16;

/**
 * The seconds of all frames. What a header of the file says about its length is not read: the
 * client that sends the file could write anything there.
 */
export async function walkFrames(
  source: ByteSource,
  read: (head: Buffer) => Frame | undefined,
): Promise<number | undefined> {
  let seconds = 0;
  for (;;) {
    if (!source.has(HEAD_BYTES)) await source.fill(HEAD_BYTES);
    const head = source.peek(HEAD_BYTES);
    if (head.length < 4) return seconds > 0 ? seconds : undefined;
    const frame = read(head);
    if (frame) {
      seconds += frame.seconds;
      await source.skip(frame.bytes);
      continue;
    }
    const ahead = source.peek(SCANNED).indexOf(SYNC, 1);
    await source.skip(ahead === -1 ? source.peek(SCANNED).length : ahead);
  }
}

/** Skips tags before the first frame (ID3v2). */
export async function skipTags(source: ByteSource): Promise<void> {
  while ((await source.fill(ID3_BYTES)) && source.peek(3).toString('latin1') === 'ID3') {
    const [flags = 0, ...size] = source.peek(ID3_BYTES).subarray(5);
    const bytes = size.reduce((sum, byte) => sum * 128 + (byte & 0x7f), 0);
    await source.skip(ID3_BYTES + bytes + (flags & 0x10 ? ID3_BYTES : 0));
  }
}
