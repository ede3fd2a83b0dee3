/** How long a recording is, by its container: WAV, Ogg, MP4, WebM. */
import type { ByteSource } from './byte-source.ts';
import { AAC_RATES, type Reading } from './walk-frames.ts';

/** The most bytes of a table's row, of a codec's description and the like. */
const FIELD_BYTES = 64;
/** Streams and tracks of one file that are told apart. */
const MAX_TRACKS = 16;
const PIECE_BYTES = 32 * 1024;
/** Lossy sound has no more bytes a second: a shorter length than this gives is not believed. */
const MOST_BYTES_PER_SECOND = 64_000;
/** The formats of WAV whose blocks are samples: PCM, floats, A-law, µ-law. */
const SAMPLE_FORMATS: ReadonlySet<number> = new Set([1, 3, 6, 7]);
/** Its format stands in 16 bytes more, as the beginning of an identifier that ends like this. */
const EXTENSIBLE = 0xfffe;
const EXTENSIBLE_END = '000000001000800000aa00389b71';

/** The seconds of a WAV file, by its bytes and its rate. `size`: of the file. */
export async function readWav(source: ByteSource, size: number): Promise<Reading | undefined> {
  await source.skip(12);
  let bytesPerSecond = 0;
  while (await source.fill(8)) {
    const head = source.peek(8);
    const name = head.toString('latin1', 0, 4);
    const bytes = head.readUInt32LE(4);
    await source.skip(8);
    // The data may be longer than it says: recorders write its length last, or never.
    if (name === 'data')
      return bytesPerSecond > 0 ? { seconds: (size - source.position()) / bytesPerSecond, unread: 0 } : undefined;
    if (name === 'fmt ') {
      // Where there are two, some decoders take the first and some the last.
      if (bytesPerSecond > 0 || bytes < 16) return undefined;
      await source.fill(Math.min(bytes, 40));
      bytesPerSecond = readWavFormat(source.peek(Math.min(bytes, 40)));
      if (bytesPerSecond <= 0) return undefined;
    }
    await source.skip(bytes + (bytes & 1));
  }
  return undefined;
}

/** Bytes of a second of samples; 0: the file has others. */
function readWavFormat(format: Buffer): number {
  if (format.length < 16) return 0;
  const tag = format.readUInt16LE(0);
  const isExtended = tag === EXTENSIBLE && format.length >= 40 && format.toString('hex', 26, 40) === EXTENSIBLE_END;
  if (!SAMPLE_FORMATS.has(isExtended ? format.readUInt16LE(24) : tag)) return 0;
  const blockBytes = Math.min(format.readUInt16LE(12), (format.readUInt16LE(2) * format.readUInt16LE(14)) / 8);
  return format.readUInt32LE(4) * blockBytes;
}

/** Seconds of a packet of Opus, by its first bytes (RFC 6716, 3.1). */
function opusSeconds(first: number, second: number): number {
  const config = first >> 3;
  const modes = config < 12 ? [10, 20, 40, 60] : config < 16 ? [10, 20, 10, 20] : [2.5, 5, 10, 20];
  const frames = [1, 2, 2, second & 0x3f][first & 3] ?? 0;
  return (frames * (modes[config & 3] ?? 0)) / 1000;
}

type OggStream = {
  codec: 'opus' | 'vorbis' | undefined;
  packets: number;
  seconds: number;
  rate: number;
  /** Samples of the longest packet. */
  longest: number;
};

const PAGE_BYTES = 27;
const PAGE = 'OggS\0';
/** A position that tells less than this part of what its packets may last is not believed. */
const LEAST_PART = 1 / 4;

/** The seconds of an Ogg file (RFC 3533): of Opus by packets, of Vorbis by its last position. */
export async function readOgg(source: ByteSource, size: number): Promise<Reading | undefined> {
  const streams = new Map<number, OggStream>();
  const all: OggStream[] = [];
  let unread = 0;
  while (await source.fill(PAGE_BYTES)) {
    if (source.peek(PAGE.length).toString('latin1') !== PAGE) {
      // Decoders go on with the next page.
      const window = source.peek(PIECE_BYTES);
      const next = window.indexOf(PAGE, 1, 'latin1');
      const bytes = next === -1 ? window.length - PAGE.length + 1 : next;
      unread += bytes;
      await source.skip(bytes);
      continue;
    }
    const count = source.peek(PAGE_BYTES).readUInt8(26);
    await source.fill(PAGE_BYTES + count);
    const lacing = [...source.peek(PAGE_BYTES + count).subarray(PAGE_BYTES)];
    const bytes = PAGE_BYTES + lacing.length + lacing.reduce((sum, length) => sum + length, 0);
    await source.fill(bytes);
    const page = source.peek(bytes);
    // Decoders that check sums would find another page in it.
    if (page.indexOf(PAGE, 1, 'latin1') !== -1) return undefined;
    const body = page.subarray(PAGE_BYTES + lacing.length);
    const isContinued = (page.readUInt8(5) & 1) === 1;
    const isFirst = (page.readUInt8(5) & 2) === 2;
    const serial = page.readUInt32LE(14);
    const begun = readCodec(body);
    const known = isFirst || begun.codec !== undefined ? undefined : streams.get(serial);
    const stream = known ?? { ...begun, packets: 0, seconds: 0 };
    if (!known) all.push(stream);
    if (all.length > MAX_TRACKS) return undefined;
    streams.set(serial, stream);
    readPackets(stream, { body, lacing, isContinued });
    const granule = Number(page.readBigInt64LE(6));
    if (stream.codec === 'vorbis' && granule > 0) stream.seconds = Math.max(stream.seconds, granule / stream.rate);
    await source.skip(bytes);
  }
  unread += Math.max(0, size - source.position());
  const seconds = all.reduce((sum, stream) => sum + stream.seconds, 0);
  const isKnown = ({ codec, packets, longest, rate, ...stream }: OggStream) =>
    codec === 'opus' ||
    (codec === 'vorbis' && longest >= 64 && stream.seconds >= (LEAST_PART * (packets - 3) * longest) / 2 / rate);
  if (!all.every(isKnown)) return undefined;
  const isPlausible = all.every(({ codec }) => codec === 'opus') || plausible(seconds, size) !== undefined;
  return isPlausible ? { seconds, unread } : undefined;
}

function readPackets(
  stream: OggStream,
  { body, lacing, isContinued }: { body: Buffer; lacing: number[]; isContinued: boolean },
): void {
  let at = 0;
  let isStart = !isContinued;
  for (const length of lacing) {
    if (isStart) {
      stream.packets += 1;
      // The first two are its description and its tags.
      if (stream.codec === 'opus' && stream.packets > 2)
        stream.seconds += opusSeconds(body[at] ?? 0, body[at + 1] ?? 0);
    }
    isStart = length < 255;
    at += length;
  }
}

function readCodec(body: Buffer): Pick<OggStream, 'codec' | 'rate' | 'longest'> {
  if (body.toString('latin1', 0, 8) === 'OpusHead') return { codec: 'opus', rate: 48_000, longest: 0 };
  const isVorbis = body.toString('latin1', 0, 7) === '\x01vorbis' && body.length >= 30;
  if (!isVorbis) return { codec: undefined, rate: 1, longest: 0 };
  return { codec: 'vorbis', rate: Math.max(1, body.readUInt32LE(12)), longest: 2 ** (body.readUInt8(28) >> 4) };
}

/** Cuts a length that the file states to what its bytes allow. */
const plausible = (seconds: number, bytes: number): number | undefined =>
  seconds > 0 && bytes / seconds <= MOST_BYTES_PER_SECOND ? seconds : undefined;

const MP4_CONTAINERS: ReadonlySet<string> = new Set(['moov', 'trak', 'mdia', 'minf', 'stbl']);
/** They bring sound that no table of the file tells of, or tables that are not read. */
const MP4_UNREAD: ReadonlySet<string> = new Set(['moof', 'cmov', 'stz2']);
const MAX_DESCRIPTION_BYTES = 1024;

type Mp4Track = {
  isSound: boolean;
  timescale: number;
  units: number;
  /** The length of a frame; undefined: its codec is not known. */
  seconds: number | undefined;
  frames: number;
};

/** The seconds of the longest track of sound of an MP4 or QuickTime file (ISO 14496-12). */
export async function readMp4(source: ByteSource): Promise<Reading | undefined> {
  let track: Mp4Track | undefined;
  let longest = 0;
  let isKnown = true;
  const endTrack = () => {
    if (!track?.isSound) return;
    if (track.seconds === undefined || track.frames === 0) isKnown = false;
    const stated = track.units / Math.max(1, track.timescale);
    longest = Math.max(longest, stated, track.frames * (track.seconds ?? 0));
  };

  while (await source.fill(8)) {
    const head = source.peek(8);
    const type = head.toString('latin1', 4);
    let bytes = head.readUInt32BE(0) - 8;
    await source.skip(8);
    if (MP4_UNREAD.has(type)) return undefined;
    if (bytes === 1 - 8 && (await source.fill(8))) {
      bytes = Number(source.peek(8).readBigUInt64BE()) - 16;
      await source.skip(8);
    }
    if (MP4_CONTAINERS.has(type)) {
      if (type === 'trak') {
        endTrack();
        track = { isSound: false, timescale: 1, units: 0, seconds: undefined, frames: 0 };
      }
      continue;
    }
    // The last box may have no length: it ends with the file.
    if (bytes < 0) break;
    const used = track ? await readMp4Box(source, { type, bytes, track }) : 0;
    await source.skip(bytes - used);
  }
  endTrack();
  return isKnown && longest > 0 ? { seconds: longest, unread: 0 } : undefined;
}

/** Returns the bytes that it has skipped. */
async function readMp4Box(
  source: ByteSource,
  { type, bytes, track }: { type: string; bytes: number; track: Mp4Track },
): Promise<number> {
  const count = Math.min(bytes, type === 'stsd' ? MAX_DESCRIPTION_BYTES : FIELD_BYTES);
  if (!(await source.fill(count)) || count < 12) return 0;
  const box = source.peek(count);
  if (type === 'hdlr') track.isSound ||= box.toString('latin1', 8, 12) === 'soun';
  else if (type === 'mdhd' && count >= 16) track.timescale = box.readUInt32BE(box[0] === 1 && count >= 24 ? 20 : 12);
  else if (type === 'stsd') track.seconds = readMp4Codec(box);
  // Where there are two tables, some decoders take the first and some the last.
  else if (type === 'stsz') track.frames += box.readUInt32BE(8);
  else if (type === 'stts') {
    const rows = Math.min(box.readUInt32BE(4), Math.floor((bytes - 8) / 8));
    await source.skip(8);
    for (let row = 0; row < rows; row += 1) {
      if (!source.has(8) && !(await source.fill(8))) return 8 + row * 8;
      const times = source.peek(8);
      track.units += times.readUInt32BE(0) * times.readUInt32BE(4);
      await source.skip(8);
    }
    return 8 + rows * 8;
  }
  return 0;
}

/** Object types of AAC in a description, and kinds of AAC whose frames have 1,024 samples. */
const AAC_OBJECTS: ReadonlySet<number> = new Set([0x40, 0x66, 0x67, 0x68]);
const AAC_KINDS: ReadonlySet<number> = new Set([1, 2, 3, 4, 5, 17, 19, 23, 29]);

/** The seconds of a frame, by what its decoder is told; undefined: they are not known. */
function readMp4Codec(box: Buffer): number | undefined {
  const codec = box.toString('latin1', 12, 16);
  const find = (name: string) => {
    const at = box.indexOf(name, 16, 'latin1');
    return at === -1 || box.indexOf(name, at + 4, 'latin1') !== -1 ? undefined : at + 8;
  };
  if (box.readUInt32BE(4) !== 1) return undefined;
  if (codec === 'alac') {
    const at = find('alac');
    if (at === undefined || at + 24 > box.length) return undefined;
    return box.readUInt32BE(at) / Math.max(1, box.readUInt32BE(at + 20));
  }
  const at = codec === 'mp4a' ? find('esds') : undefined;
  const stream = at === undefined ? undefined : enterDescriptor(box, at, 3);
  // No flags: nothing optional stands before the next one.
  const decoder = stream === undefined || box[stream + 2] !== 0 ? undefined : enterDescriptor(box, stream + 3, 4);
  const config =
    decoder === undefined || !AAC_OBJECTS.has(box[decoder] ?? 0) ? undefined : enterDescriptor(box, decoder + 13, 5);
  if (config === undefined || config + 2 > box.length) return undefined;
  const bits = box.readUInt16BE(config);
  const rate = AAC_RATES[(bits >> 7) & 15];
  return rate !== undefined && AAC_KINDS.has(bits >> 11) ? 1024 / rate : undefined;
}

/** Where the content of a descriptor begins (ISO 14496-1); undefined: there is another, or none. */
function enterDescriptor(box: Buffer, at: number, tag: number): number | undefined {
  if (box[at] !== tag) return undefined;
  let next = at + 1;
  while (next < at + 4 && ((box[next] ?? 0) & 0x80) !== 0) next += 1;
  return next + 1;
}

/** Elements of Matroska whose children are read, and those that tell something (RFC 9559). */
const SEGMENT = 0x18538067;
const TRACKS = 0x1654ae6b;
const TRACK_ENTRY = 0xae;
const CLUSTER = 0x1f43b675;
const BLOCK_GROUP = 0xa0;
const INFO = 0x1549a966;
const MASTERS: ReadonlySet<number> = new Set([SEGMENT, TRACKS, TRACK_ENTRY, CLUSTER, BLOCK_GROUP, INFO]);
const TRACK_NUMBER = 0xd7;
const CODEC_ID = 0x86;
const TIMESTAMP_SCALE = 0x2ad7b1;
const TIMESTAMP = 0xe7;
const SIMPLE_BLOCK = 0xa3;
const BLOCK = 0xa1;
/** Compressed or encrypted blocks. */
const CONTENT_ENCODINGS = 0x6d80;
/** Elements that may be long: padding, tags, attachments, cues, chapters, positions, set-ups. */
const LONG: ReadonlySet<number> = new Set([
  ...[0xec, 0x1254c367, 0x1941a469, 0x1c53bb6b, 0x1043a770, 0x114d9b74, 0x63a2],
]);
const MAX_LONG_BYTES = 1024 * 1024;
/** Frames of no codec but Opus are shorter on average. */
const LEAST_FRAME_SECONDS = 0.005;

type WebmTrack = { number: number; codec: string };

/** The seconds of a WebM or Matroska file: of Opus by its packets, else by its last timestamp. */
export async function readWebm(source: ByteSource, size: number): Promise<Reading | undefined> {
  const tracks: WebmTrack[] = [];
  let scale = 1_000_000;
  let clusterTime = 0;
  let lastTime = 0;
  let soundBytes = 0;
  let packets = 0;
  let frames = 0;
  let isOpus = true;
  let longBytes = 0;
  let unread = 0;
  while (await source.fill(2)) {
    await source.fill(12);
    const head = source.peek(12);
    const id = readVint(head, 0, { keepsMark: true });
    const length = id && readVint(head, id.bytes, { keepsMark: false });
    if (!id || !length) break;
    const isMaster = MASTERS.has(id.value);
    // What is cut off, or has no length: decoders look for the next element.
    if (!isMaster && length.value > size - source.position()) break;
    await source.skip(id.bytes + length.bytes);
    if (id.value === TRACK_ENTRY) tracks.push({ number: 0, codec: '' });
    if (id.value === CONTENT_ENCODINGS || tracks.length > MAX_TRACKS) return undefined;
    if (isMaster) continue;
    const isBlock = id.value === SIMPLE_BLOCK || id.value === BLOCK;
    const isNumber = id.value === TRACK_NUMBER || id.value === TIMESTAMP_SCALE || id.value === TIMESTAMP;
    // Decoders refuse it, and look for elements in it.
    if (isNumber && length.value > 8) return undefined;
    await source.fill(Math.min(length.value, FIELD_BYTES));
    const body = source.peek(Math.min(length.value, FIELD_BYTES));
    const track = tracks.at(-1);
    if (isBlock && body.length >= 6) {
      const number = readVint(body, 0, { keepsMark: false });
      const [own, other] = tracks.filter((one) => one.number === number?.value);
      const at = number?.bytes ?? 1;
      if (other) return undefined;
      if (!own) unread += length.value;
      else if (own.codec.startsWith('A_')) {
        const isLaced = ((body[at + 2] ?? 0) & 0x06) !== 0;
        isOpus &&= own.codec === 'A_OPUS' && !isLaced;
        packets += opusSeconds(body[at + 3] ?? 0, body[at + 4] ?? 0);
        frames += isLaced ? (body[at + 3] ?? 0) + 1 : 1;
        soundBytes += length.value;
        lastTime = Math.max(lastTime, clusterTime + body.readInt16BE(at));
      }
    } else if (id.value === TRACK_NUMBER && track) track.number = unsigned(body);
    else if (id.value === CODEC_ID && track) track.codec = body.toString('latin1');
    else if (id.value === TIMESTAMP_SCALE) scale = unsigned(body);
    else if (id.value === TIMESTAMP) clusterTime = unsigned(body);
    else if (LONG.has(id.value)) longBytes += length.value;
    else if (length.value > FIELD_BYTES) unread += length.value;
    await source.skip(length.value);
  }
  unread += Math.max(0, size - source.position()) + Math.max(0, longBytes - MAX_LONG_BYTES);
  if (isOpus && packets > 0) return { seconds: packets, unread };
  const seconds = plausible((lastTime * scale) / 1e9, soundBytes);
  return seconds !== undefined && seconds >= frames * LEAST_FRAME_SECONDS ? { seconds, unread } : undefined;
}

const unsigned = (bytes: Buffer): number => bytes.subarray(0, 8).reduce((sum, byte) => sum * 256 + byte, 0);

/** A number of variable length (RFC 8794, 4); undefined if it is cut off or malformed. */
function readVint(
  bytes: Buffer,
  from: number,
  { keepsMark }: { keepsMark: boolean },
): { value: number; bytes: number } | undefined {
  const first = bytes[from] ?? 0;
  const count = Math.clz32(first) - 23;
  if (first === 0 || from + count > bytes.length) return undefined;
  const rest = bytes.subarray(from + 1, from + count);
  const start = keepsMark ? first : first & (0xff >> count);
  return { value: rest.reduce((sum, byte) => sum * 256 + byte, start), bytes: count };
}
