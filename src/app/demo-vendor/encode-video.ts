/** Width and height in pixels, and frames in a second. */
export type VideoSize = { width: number; height: number; rate: number };
/** The colour of a pixel: red, green and blue from 0 to 255. */
export type Frame = (x: number, y: number) => readonly [number, number, number];
/** A picture that differs from the previous one only inside the areas of the two. */
export type Step = { frame: Frame; area: Area };
export type Area = { left: number; top: number; right: number; bottom: number };

const MACROBLOCK = 16;
/** ITU-T H.264, tables 7-11 and 7-13: a macroblock whose samples follow as they are. */
const I_PCM = 25;
const I_PCM_IN_P = 30;

/**
 * An MP4 file of H.264 (Constrained Baseline) that needs no encoder: macroblocks that may differ
 * from the frame before are written sample by sample, all others are skipped. So still pictures
 * with little motion stay small.
 */
export function encodeVideo({ width, height, rate }: VideoSize, steps: readonly Step[]): Uint8Array {
  const columns = Math.ceil(width / MACROBLOCK);
  const rows = Math.ceil(height / MACROBLOCK);
  const whole = { left: 0, top: 0, right: width, bottom: height };
  const samples = steps.map(({ frame, area }, number) => {
    const former = steps[number - 1]?.area;
    const areas = former === undefined ? [whole] : [area, former];
    const blocks = Array.from({ length: columns * rows }, (_, index) => {
      const left = (index % columns) * MACROBLOCK;
      const top = Math.floor(index / columns) * MACROBLOCK;
      return areas.some((each) => touches(each, left, top)) ? sampleBlock(frame, left, top) : null;
    });
    return writeSlice(blocks, number);
  });
  const sps = toNal(0x67, writeSps({ columns, rows, width, height }));
  const pps = toNal(0x68, writePps());
  return writeMp4({ width, height, rate, sps, pps, samples });
}

const touches = (area: Area, left: number, top: number): boolean =>
  left < area.right && left + MACROBLOCK > area.left && top < area.bottom && top + MACROBLOCK > area.top;

/** The samples of a macroblock: 256 of brightness, 64 of each colour difference (BT.601). */
function sampleBlock(frame: Frame, left: number, top: number): Uint8Array {
  const bytes = new Uint8Array(384);
  for (let y = 0; y < MACROBLOCK; y += 1) {
    for (let x = 0; x < MACROBLOCK; x += 1) {
      const [red, green, blue] = frame(left + x, top + y);
      bytes[y * MACROBLOCK + x] = 16 + 0.257 * red + 0.504 * green + 0.098 * blue;
      if (x % 2 === 1 || y % 2 === 1) continue;
      const at = (y / 2) * 8 + x / 2;
      bytes[256 + at] = 128 - 0.148 * red - 0.291 * green + 0.439 * blue;
      bytes[320 + at] = 128 + 0.439 * red - 0.368 * green - 0.071 * blue;
    }
  }
  return bytes;
}

/** The first frame stands for itself; each later one says how it differs from the one before. */
function writeSlice(blocks: readonly (Uint8Array | null)[], number: number): Uint8Array {
  const bits = createBits();
  const isFirst = number === 0;
  bits
    .exp(0)
    .exp(isFirst ? 7 : 5)
    .exp(0)
    .write(number % 16, 4);
  // The first picture has an id and two flags of references; a later one lists none again.
  if (isFirst) bits.exp(0).write(0, 2);
  else bits.write(0, 3);
  // No change of the quantiser (0 as a signed number), no deblocking.
  bits.exp(0).exp(1);
  let skipped = 0;
  for (const block of blocks) {
    if (block === null) {
      skipped += 1;
      continue;
    }
    if (!isFirst) bits.exp(skipped);
    skipped = 0;
    bits
      .exp(isFirst ? I_PCM : I_PCM_IN_P)
      .align(0)
      .bytes(block);
  }
  if (!isFirst && skipped > 0) bits.exp(skipped);
  return toNal(isFirst ? 0x65 : 0x41, bits.end());
}

type Picture = { columns: number; rows: number; width: number; height: number };

function writeSps({ columns, rows, width, height }: Picture): Uint8Array {
  const bits = createBits().write(66, 8).write(0xc0, 8).write(30, 8);
  // Id, four bits for frame numbers, pictures in the order of decoding, one reference.
  bits.exp(0).exp(0).exp(2).exp(1).write(0, 1);
  bits
    .exp(columns - 1)
    .exp(rows - 1)
    .write(0b11, 2);
  const right = (columns * MACROBLOCK - width) / 2;
  const bottom = (rows * MACROBLOCK - height) / 2;
  bits.write(1, 1).exp(0).exp(right).exp(0).exp(bottom).write(0, 1);
  return bits.end();
}

/** Ids, no slice groups, one reference, no weights; quantisers as they are; deblocking is said. */
const writePps = (): Uint8Array =>
  createBits().exp(0).exp(0).write(0, 2).exp(0).exp(0).exp(0).write(0, 3).exp(0).exp(0).exp(0).write(0b100, 3).end();

/** Writes bits, the highest first, and unsigned Exp-Golomb numbers (H.264, 9.1). */
function createBits() {
  const out: number[] = [];
  let held = 0;
  let count = 0;
  const push = (bit: number): void => {
    held = (held << 1) | bit;
    count += 1;
    if (count < 8) return;
    out.push(held);
    held = 0;
    count = 0;
  };
  const bits = {
    write(value: number, width: number) {
      for (let at = width - 1; at >= 0; at -= 1) push((value >> at) & 1);
      return bits;
    },
    exp(value: number) {
      const width = 32 - Math.clz32(value + 1);
      return bits.write(0, width - 1).write(value + 1, width);
    },
    align(bit: number) {
      while (count > 0) push(bit);
      return bits;
    },
    bytes(data: Uint8Array) {
      for (const byte of data) out.push(byte);
      return bits;
    },
    end(): Uint8Array {
      push(1);
      bits.align(0);
      return Uint8Array.from(out);
    },
  };
  return bits;
}

/** A unit with its header; bytes that would read as a start code are broken up (H.264, 7.4.1). */
function toNal(header: number, payload: Uint8Array): Uint8Array {
  const out = Buffer.alloc(1 + Math.ceil(payload.length * 1.5));
  out[0] = header;
  let [length, zeros] = [1, 0];
  for (const byte of payload) {
    if (zeros === 2 && byte <= 3) {
      out[length] = 3;
      length += 1;
      zeros = 0;
    }
    out[length] = byte;
    length += 1;
    zeros = byte === 0 ? zeros + 1 : 0;
  }
  return out.subarray(0, length);
}

type Movie = VideoSize & { sps: Uint8Array; pps: Uint8Array; samples: readonly Uint8Array[] };

/** The index comes first, so that players begin before the file is whole (ISO/IEC 14496-12). */
function writeMp4({ width, height, rate, sps, pps, samples }: Movie): Uint8Array {
  const count = samples.length;
  const sizes = samples.map((sample) => sample.length + 4);
  const matrix = [0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000].map(u32);
  const avc1 = box(
    'avc1',
    [u32(0), u16(0), u16(1), Buffer.alloc(16), u16(width), u16(height), u32(0x480000), u32(0x480000), u32(0), u16(1)],
    [Buffer.alloc(32), u16(24), u16(0xffff)],
    [
      box('avcC', [
        Buffer.from([1, 66, 0xc0, 30, 0xff, 0xe1]),
        u16(sps.length),
        sps,
        Buffer.from([1]),
        u16(pps.length),
        pps,
      ]),
    ],
  );
  const index = (offset: number): Buffer => {
    const stbl = box('stbl', [
      box('stsd', [u32(0), u32(1), avc1]),
      box('stts', [u32(0), u32(1), u32(count), u32(1)]),
      box('stss', [u32(0), u32(1), u32(1)]),
      box('stsc', [u32(0), u32(1), u32(1), u32(count), u32(1)]),
      box('stsz', [u32(0), u32(0), u32(count), ...sizes.map(u32)]),
      box('stco', [u32(0), u32(1), u32(offset)]),
    ]);
    const dinf = box('dinf', [box('dref', [u32(0), u32(1), box('url ', [u32(1)])])]);
    const minf = box('minf', [box('vmhd', [u32(1), u32(0), u32(0)]), dinf, stbl]);
    const hdlr = box('hdlr', [u32(0), u32(0), Buffer.from('vide'), Buffer.alloc(12), Buffer.from('video\0')]);
    const mdia = box('mdia', [
      box('mdhd', [u32(0), u32(0), u32(0), u32(rate), u32(count), u32(0x55c40000)]),
      hdlr,
      minf,
    ]);
    const tkhd = box('tkhd', [u32(3), u32(0), u32(0), u32(1), u32(0), u32(count), Buffer.alloc(16)], matrix, [
      u32(width * 65_536),
      u32(height * 65_536),
    ]);
    const mvhd = box(
      'mvhd',
      [u32(0), u32(0), u32(0), u32(rate), u32(count), u32(0x10000), u16(0x100), Buffer.alloc(10)],
      matrix,
      [Buffer.alloc(24), u32(2)],
    );
    return box('moov', [mvhd, box('trak', [tkhd, mdia])]);
  };
  const ftyp = box('ftyp', [Buffer.from('isom'), u32(0x200), Buffer.from('isomavc1mp41')]);
  const offset = ftyp.length + index(0).length + 8;
  const mdat = box(
    'mdat',
    samples.flatMap((sample) => [u32(sample.length), sample]),
  );
  return Buffer.concat([ftyp, index(offset), mdat]);
}

function box(name: string, ...parts: readonly (readonly Uint8Array[])[]): Buffer {
  const content = Buffer.concat(parts.flat());
  return Buffer.concat([u32(content.length + 8), Buffer.from(name, 'latin1'), content]);
}

const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
};

const u16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
};
