import type { ByteSource } from './byte-source.ts';

/** The most bytes of a table's row, of a codec's description and the like. */
const FIELD_BYTES = 64;
/** Streams and tracks of one file that are told apart. */
const MAX_TRACKS = 16;
/** Lossy sound has no more bytes a second: a shorter length than this gives is not believed. */
const MOST_BYTES_PER_SECOND = 64_000;
/** The formats of WAV whose blocks are samples: PCM, floats, A-law, µ-law, the extensible one. */
const SAMPLE_FORMATS: ReadonlySet<number> = new Set([1, 3, 6, 7, 0xfffe]);

/** The seconds of a WAV file, by its bytes and its rate. `size`: of the file. */
export async function readWav(source: ByteSource, size: number): Promise<number | undefined> {
  await source.skip(12);
  let bytesPerSecond = 0;
  while (await source.fill(8)) {
    const head = source.peek(8);
    const name = head.toString('latin1', 0, 4);
    const bytes = head.readUInt32LE(4);
    await source.skip(8);
    // The data may be longer than it says: recorders write its length last, or never.
    if (name === 'data') return bytesPerSecond > 0 ? (size - source.position()) / bytesPerSecond : undefined;
    if (name === 'fmt ' && bytes >= 16 && (await source.fill(16))) {
      const format = source.peek(16);
      if (!SAMPLE_FORMATS.has(format.readUInt16LE(0))) return undefined;
      const blockBytes = Math.min(format.readUInt16LE(12), (format.readUInt16LE(2) * format.readUInt16LE(14)) / 8);
      bytesPerSecond = format.readUInt32LE(4) * blockBytes;
    }
    await source.skip(bytes + (bytes & 1));
  }
  return undefined;
}

/** Seconds of a packet of Opus, by its first bytes (RFC 6716, 3.1). */
export function opusSeconds(first: number, second: number): number {
  const config = first >> 3;
  const modes = config < 12 ? [10, 20, 40, 60] : config < 16 ? [10, 20, 10, 20] : [2.5, 5, 10, 20];
  const frames = [1, 2, 2, second & 0x3f][first & 3] ?? 0;
  return (frames * (modes[config & 3] ?? 0)) / 1000;
}

type OggStream = { codec: 'opus' | 'vorbis' | undefined; packets: number; seconds: number; rate: number };

/** The seconds of an Ogg file (RFC 3533): of Opus by packets, of Vorbis by its last position. */
export async function readOgg(source: ByteSource, size: number): Promise<number | undefined> {
  const streams = new Map<number, OggStream>();
  while ((await source.fill(27)) && source.peek(4).toString('latin1') === 'OggS') {
    const head = source.peek(27);
    const isContinued = (head.readUInt8(5) & 1) === 1;
    const granule = Number(head.readBigInt64LE(6));
    const serial = head.readUInt32LE(14);
    const count = head.readUInt8(26);
    await source.skip(27);
    if (!(await source.fill(count))) break;
    const lacing = [...source.peek(count)];
    await source.skip(count);
    const bytes = lacing.reduce((sum, length) => sum + length, 0);
    await source.fill(bytes);
    const body = source.peek(bytes);
    const stream = streams.get(serial) ?? { ...readCodec(body), packets: 0, seconds: 0 };
    if (streams.size >= MAX_TRACKS && !streams.has(serial)) return undefined;
    streams.set(serial, stream);
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
    if (stream.codec === 'vorbis' && granule > 0) stream.seconds = Math.max(stream.seconds, granule / stream.rate);
    await source.skip(bytes);
  }
  const all = [...streams.values()];
  const seconds = all.reduce((sum, stream) => sum + stream.seconds, 0);
  if (all.some(({ codec }) => codec === undefined)) return undefined;
  return all.every(({ codec }) => codec === 'opus') ? seconds : plausible(seconds, size);
}

function readCodec(body: Buffer): Pick<OggStream, 'codec' | 'rate'> {
  if (body.toString('latin1', 0, 8) === 'OpusHead') return { codec: 'opus', rate: 48_000 };
  const isVorbis = body.toString('latin1', 0, 7) === '\x01vorbis' && body.length >= 16;
  return isVorbis ? { codec: 'vorbis', rate: Math.max(1, body.readUInt32LE(12)) } : { codec: undefined, rate: 1 };
}

/** Cuts a length that the file states to what its bytes allow. */
const plausible = (seconds: number, bytes: number): number | undefined =>
  seconds > 0 && bytes / seconds <= MOST_BYTES_PER_SECOND ? seconds : undefined;

const MP4_CONTAINERS: ReadonlySet<string> = new Set(['moov', 'trak', 'mdia', 'minf', 'stbl']);
/** Samples of one frame, by codec. */
const MP4_FRAME_SAMPLES: Readonly<Record<string, number>> = { mp4a: 1024, alac: 4096 };
const MOST_RATE = 96_000;

type Mp4Track = {
  isSound: boolean;
  timescale: number;
  units: number;
  codec: string;
  rate: number;
  frames: number;
};

/** The seconds of the longest track of sound of an MP4 or QuickTime file (ISO 14496-12). */
export async function readMp4(source: ByteSource): Promise<number | undefined> {
  let track: Mp4Track | undefined;
  let longest = 0;
  let isKnown = true;
  const endTrack = () => {
    if (!track?.isSound) return;
    const perFrame = MP4_FRAME_SAMPLES[track.codec];
    if (perFrame === undefined || track.frames === 0) isKnown = false;
    const stated = track.units / Math.max(1, track.timescale);
    const rate = Math.min(Math.max(track.rate, 1), MOST_RATE);
    longest = Math.max(longest, stated, (track.frames * (perFrame ?? 0)) / rate);
  };

  while (await source.fill(8)) {
    const head = source.peek(8);
    const type = head.toString('latin1', 4);
    let bytes = head.readUInt32BE(0) - 8;
    await source.skip(8);
    if (bytes === 1 - 8 && (await source.fill(8))) {
      bytes = Number(source.peek(8).readBigUInt64BE()) - 16;
      await source.skip(8);
    }
    if (MP4_CONTAINERS.has(type)) {
      if (type === 'trak') {
        endTrack();
        track = { isSound: false, timescale: 1, units: 0, codec: '', rate: 0, frames: 0 };
      }
      continue;
    }
    // The last box may have no length: it ends with the file.
    if (bytes < 0) break;
    const used = track ? await readMp4Box(source, { type, bytes, track }) : 0;
    await source.skip(bytes - used);
  }
  endTrack();
  return isKnown && longest > 0 ? longest : undefined;
}

/** Returns the bytes that it has skipped. */
async function readMp4Box(
  source: ByteSource,
  { type, bytes, track }: { type: string; bytes: number; track: Mp4Track },
): Promise<number> {
  const count = Math.min(bytes, FIELD_BYTES);
  if (!(await source.fill(count)) || count < 12) return 0;
  const box = source.peek(count);
  if (type === 'hdlr') track.isSound ||= box.toString('latin1', 8, 12) === 'soun';
  else if (type === 'mdhd' && count >= 16) track.timescale = box.readUInt32BE(box[0] === 1 && count >= 24 ? 20 : 12);
  else if (type === 'stsd' && count >= 44) {
    track.codec = box.toString('latin1', 12, 16);
    track.rate = box.readUInt16BE(40);
  } else if (type === 'stsz') track.frames = box.readUInt32BE(8);
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

/** The seconds of a WebM or Matroska file: of Opus by its packets, else by its last timestamp. */
export async function readWebm(source: ByteSource): Promise<number | undefined> {
  const codecs = new Map<number, string>();
  let track = 0;
  let scale = 1_000_000;
  let clusterTime = 0;
  let lastTime = 0;
  let soundBytes = 0;
  let packets = 0;
  let isOpus = true;
  while (await source.fill(2)) {
    await source.fill(12);
    const head = source.peek(12);
    const id = readVint(head, 0, { keepsMark: true });
    const length = id && readVint(head, id.bytes, { keepsMark: false });
    if (!id || !length) break;
    await source.skip(id.bytes + length.bytes);
    if (MASTERS.has(id.value)) continue;
    const isBlock = id.value === SIMPLE_BLOCK || id.value === BLOCK;
    await source.fill(Math.min(length.value, FIELD_BYTES));
    const body = source.peek(Math.min(length.value, FIELD_BYTES));
    if (isBlock && body.length >= 6) {
      const number = readVint(body, 0, { keepsMark: false });
      const codec = codecs.get(number?.value ?? 0);
      const at = number?.bytes ?? 1;
      if (codec?.startsWith('A_')) {
        const isLaced = ((body[at + 2] ?? 0) & 0x06) !== 0;
        isOpus &&= codec === 'A_OPUS' && !isLaced;
        packets += opusSeconds(body[at + 3] ?? 0, body[at + 4] ?? 0);
        soundBytes += length.value;
        lastTime = Math.max(lastTime, clusterTime + body.readInt16BE(at));
      }
    } else if (id.value === TRACK_NUMBER) track = unsigned(body);
    else if (id.value === CODEC_ID && codecs.size < MAX_TRACKS) codecs.set(track, body.toString('latin1'));
    else if (id.value === TIMESTAMP_SCALE) scale = unsigned(body);
    else if (id.value === TIMESTAMP) clusterTime = unsigned(body);
    await source.skip(length.value);
  }
  if (isOpus && packets > 0) return packets;
  return plausible((lastTime * scale) / 1e9, soundBytes);
}

const unsigned = (bytes: Buffer): number => bytes.subarray(0, 8).reduce((sum, byte) => sum * 256 + byte, 0);

/** A number of variable length (RFC 8794, 4); undefined: it is cut off, or is none. */
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
