import type { ByteSource } from './byte-source.ts';

/**
 * A frame of sound and the bytes from its beginning to that of the next. `format`: what all frames
 * of one recording have in common.
 */
type Frame = { bytes: number; seconds: number; format: number };

/** What a file yielded. `unread`: bytes that are not part of its sound, and may be other sound. */
export type Reading = { seconds: number; unread: number };

const SYNC = 0xff;
const SCANNED = 64 * 1024;

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
export const AAC_RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350,
];
const FLAC_RATES = [88_200, 176_400, 192_000, 8000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000];

/** A frame of MP3 or of another layer (ISO 11172-3). */
function readMpegFrame(head: Buffer): Frame | undefined {
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
  return { bytes: layer === 1 ? slots * 4 : slots, seconds: samples / sampleRate, format: sampleRate * 4 + layer };
}

/** A frame of AAC in ADTS (ISO 13818-7). */
function readAdtsFrame(head: Buffer): Frame | undefined {
  const [sync = 0, second = 0, third = 0, fourth = 0, fifth = 0, sixth = 0, seventh = 0] = head;
  const rate = AAC_RATES[(third >> 2) & 15];
  const bytes = ((fourth & 3) << 11) | (fifth << 3) | (sixth >> 5);
  if (sync !== SYNC || (second & 0xf6) !== 0xf0 || rate === undefined || bytes < 7) return undefined;
  return { bytes, seconds: (1024 * ((seventh & 3) + 1)) / rate, format: rate * 4 };
}

/** Bits of a sample by code; 0 and 3 do not tell them. */
const FLAC_BITS = [32, 8, 12, 32, 16, 20, 24, 32];
/** The heads of a frame and of its channels. */
const FLAC_HEADS_BYTES = 64;

/**
 * A frame of FLAC (RFC 9639), whose length its head does not tell: `bytes` is the most that it may
 * have. The check sum makes it unlikely that other bytes look like one.
 */
function readFlacFrame(head: Buffer): Omit<Frame, 'format'> | undefined {
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
  const channels = fourth >> 4 > 7 ? 2 : (fourth >> 4) + 1;
  const bits = (FLAC_BITS[(fourth >> 1) & 7] ?? 32) + 1;
  const bytes = FLAC_HEADS_BYTES + Math.ceil((samples * channels * bits) / 8);
  return { bytes, seconds: samples / (rate || 8000) };
}

function crc8(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x80 ? ((crc << 1) ^ 0x07) & 0xff : crc << 1;
  }
  return crc;
}

/** No head of a frame or of a tag is longer. */
const HEAD_BYTES = 32;
/** Tags behind the first frame that are taken for tags, pictures included. */
const MAX_LATE_TAG_BYTES = 1024 * 1024;

type Chain = { end: number; pending: { from: number; frame: Frame } | undefined };

/**
 * The seconds of all frames, of whatever formats they are: a vendor may choose its decoder by
 * another frame than the first. A frame counts where another of its format precedes or follows it
 * at once, else it may be chance. What a header of the file says about its length is not read: the
 * client that sends the file could write anything there.
 */
export async function scanFrames(source: ByteSource, size: number): Promise<Reading | undefined> {
  const chains = new Map<number, Chain>();
  let seconds = 0;
  let explained = 0;
  /** What follows is a frame or a tag, or not explained. */
  let end = 0;
  let lateTags = 0;
  let isFlac = false;
  /** The next tag is a block of FLAC's metadata. */
  let isBlock = false;

  function explain(from: number, bytes: number): void {
    const to = Math.min(from + bytes, size);
    explained += Math.max(0, to - Math.max(from, end));
    end = Math.max(end, to);
  }

  function take(from: number, frame: Frame): void {
    const chain = chains.get(frame.format) ?? { end: 0, pending: undefined };
    chains.set(frame.format, chain);
    // It lies in a frame that was counted.
    if (from < chain.end) return;
    const { pending } = chain;
    const pendingEnd = pending ? pending.from + pending.frame.bytes : 0;
    const isNext = from === chain.end || from === end;
    if (!isNext && from !== pendingEnd) {
      if (from > pendingEnd) chain.pending = { from, frame };
      return;
    }
    const counted = pending && from === pendingEnd ? [pending, { from, frame }] : [{ from, frame }];
    for (const one of counted) {
      seconds += one.frame.seconds;
      explain(one.from, one.frame.bytes);
    }
    chain.end = from + frame.bytes;
    chain.pending = undefined;
  }

  function readFrames(from: number, head: Buffer): void {
    const flac = readFlacFrame(head);
    if (flac) {
      seconds += flac.seconds;
      explain(from, flac.bytes);
    }
    // Such a head looks like one of AAC.
    if (flac && isFlac) return;
    for (const frame of [readAdtsFrame(head), readMpegFrame(head)]) if (frame) take(from, frame);
  }

  function readTag(from: number, head: Buffer): void {
    let bytes = tagBytes(head);
    if (isBlock) {
      bytes = head.length < 4 ? 1 : 4 + head.readUIntBE(1, 3);
      isBlock = head.readUInt8(0) < 0x80;
    } else if (seconds === 0 && head.toString('latin1', 0, 4) === 'fLaC') {
      bytes = 4;
      isBlock = isFlac = true;
    } else if (seconds > 0) lateTags += bytes;
    if (bytes > 0 && lateTags <= MAX_LATE_TAG_BYTES) explain(from, bytes);
  }

  for (;;) {
    if (!source.has(HEAD_BYTES)) await source.fill(HEAD_BYTES);
    const base = source.position();
    const window = source.peek(SCANNED);
    if (window.length === 0) break;
    // A head may go on in what comes next.
    const last = window.length < HEAD_BYTES ? window.length : window.length - HEAD_BYTES + 1;
    let sync = -1;
    for (let at = 0; at < last; at += 1) {
      if (sync < at) sync = window.indexOf(SYNC, at);
      if (sync === -1) sync = last;
      const tag = end - base;
      const isTag = tag >= at && tag < sync;
      at = isTag ? tag : sync;
      if (at >= last) break;
      const head = window.subarray(at, at + HEAD_BYTES);
      if (isTag) readTag(base + at, head);
      else readFrames(base + at, head);
    }
    await source.skip(last);
  }
  return seconds > 0 ? { seconds, unread: size - explained } : undefined;
}

/** Bytes of a tag: ID3, as exactly as decoders read it, APE, or padding. 0: it is no tag. */
function tagBytes(head: Buffer): number {
  const zeros = head.findIndex((byte) => byte !== 0);
  if (zeros !== 0) return zeros === -1 ? head.length : zeros;
  if (head.length < 10) return 0;
  const begins = (text: string) => head.toString('latin1', 0, text.length) === text;
  if (begins('TAG')) return 128;
  if (begins('ID3')) {
    const [major = 0, minor = 0, flags = 0, ...size] = head.subarray(3, 10);
    if (major === 0xff || minor === 0xff || size.some((byte) => byte > 0x7f)) return 0;
    return 10 + size.reduce((sum, byte) => sum * 128 + byte, 0) + (flags & 0x10 ? 10 : 0);
  }
  if (!begins('APETAGEX') || head.length < 32) return 0;
  // It has the same at its end, with another flag.
  const isHeader = ((head.readUInt32LE(20) >> 29) & 1) === 1;
  return 32 + (isHeader ? head.readUInt32LE(12) : 0);
}
