import { sha256Hex } from '../../kernel/index.ts';
import type { Job } from './demo-jobs.ts';
import { encodeVideo, type Frame, type Step } from './encode-video.ts';

const BOX_HEADER_BYTES = 8;

/**
 * The scene of the prompt with the job's id in a `free` box at its end, so that no two jobs have
 * the same bytes.
 * Players skip the box.
 */
function makeVideo(job: Job): Uint8Array {
  const scene = drawScene(job.prompt);
  const isSmaller = job.script.bytes > 0 && job.script.bytes < scene.length;
  const sample = isSmaller ? drawTiny() : scene;
  const id = Buffer.from(job.id);
  const payload = Math.max(id.length, job.script.bytes - sample.length - BOX_HEADER_BYTES);
  const video = Buffer.alloc(sample.length + BOX_HEADER_BYTES + payload);
  video.set(sample);
  video.writeUInt32BE(BOX_HEADER_BYTES + payload, sample.length);
  video.write('free', sample.length + 4, 'latin1');
  video.set(id, sample.length + BOX_HEADER_BYTES);
  return video;
}

/** Answers GET and HEAD with one range at most, and conditional requests (RFC 9110 13 and 14). */
export function serveVideo(job: Job, request: Request): Response {
  const video = makeVideo(job);
  const etag = `"${sha256Hex(video).slice(0, 32)}"`;
  const headers = { 'content-type': 'video/mp4', 'accept-ranges': 'bytes', etag, 'cache-control': 'private' };
  const body = (bytes: Uint8Array) => (request.method === 'HEAD' ? null : new Uint8Array(bytes));

  const knownTags = (request.headers.get('if-none-match') ?? '').split(',').map((tag) => tag.trim());
  if (knownTags.includes(etag)) return new Response(null, { status: 304, headers });
  const ifRange = request.headers.get('if-range');
  const range =
    ifRange === null || ifRange === etag ? readRange(request.headers.get('range'), video.length) : undefined;
  if (range === 'unsatisfiable') {
    return new Response(null, { status: 416, headers: { ...headers, 'content-range': `bytes */${video.length}` } });
  }
  const [first, last] = range ?? [0, video.length - 1];
  const length = { 'content-length': String(last - first + 1) };
  if (!range) return new Response(body(video), { headers: { ...headers, ...length } });
  return new Response(body(video.subarray(first, last + 1)), {
    status: 206,
    headers: { ...headers, ...length, 'content-range': `bytes ${first}-${last}/${video.length}` },
  });
}

/** First and last byte of a single range; `undefined` for none or for a form to be ignored. */
function readRange(header: string | null, size: number): [number, number] | 'unsatisfiable' | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '');
  if (!match || (match[1] === '' && match[2] === '')) return undefined;
  const [, from = '', to = ''] = match;
  if (from === '') return Number(to) === 0 ? 'unsatisfiable' : [Math.max(0, size - Number(to)), size - 1];
  if (to !== '' && Number(to) < Number(from)) return undefined;
  if (Number(from) >= size) return 'unsatisfiable';
  return [Number(from), to === '' ? size - 1 : Math.min(Number(to), size - 1)];
}

type Colour = readonly [number, number, number];
type Palette = { top: Colour; bottom: Colour; light: Colour; far: Colour; near: Colour };

const SIZE = { width: 320, height: 180, rate: 12 };
const FRAMES = 24;
const HORIZON = 118;

const PALETTES = {
  dawn: {
    top: [92, 108, 160],
    bottom: [250, 190, 150],
    light: [255, 236, 200],
    far: [128, 120, 150],
    near: [70, 74, 96],
  },
  day: {
    top: [88, 160, 224],
    bottom: [206, 232, 244],
    light: [255, 250, 226],
    far: [122, 164, 158],
    near: [66, 116, 96],
  },
  dusk: { top: [62, 52, 110], bottom: [240, 130, 96], light: [255, 206, 140], far: [104, 70, 110], near: [52, 40, 72] },
  night: { top: [12, 18, 44], bottom: [46, 62, 104], light: [236, 240, 250], far: [30, 42, 74], near: [16, 24, 46] },
  grey: {
    top: [128, 140, 152],
    bottom: [204, 210, 214],
    light: [232, 234, 234],
    far: [150, 160, 166],
    near: [98, 108, 114],
  },
} as const satisfies Record<string, Palette>;

/** A word of the prompt chooses the time of day; else its hash does, so that prompts differ. */
const TIMES: readonly (readonly [RegExp, keyof typeof PALETTES])[] = [
  [/night|moon|star|neon|dark|midnight/i, 'night'],
  [/dusk|sunset|evening|autumn|fire/i, 'dusk'],
  [/dawn|sunrise|morning/i, 'dawn'],
  [/fog|rain|storm|mist|steam|snow|winter/i, 'grey'],
  [/day|noon|summer|sun|meadow/i, 'day'],
];
const PLACES = [
  [/boat|lake|sea|ocean|river|harbou?r|lighthouse|puddle|water|beach|ship/i, 'water'],
  [/city|street|tram|train|car|neon|roof|tower|skyline|house/i, 'city'],
  [/forest|tree|wood|jungle|garden|park/i, 'forest'],
  [/hill|mountain|field|meadow|desert|castle/i, 'hills'],
] as const;

type Place = (typeof PLACES)[number][1];
type Scene = { palette: Palette; isNight: boolean; place: Place; seed: number };

/** Files of the latest prompts: a download asks for several ranges. */
const drawn = new Map<string, Uint8Array>();
const KEPT = 16;

/** Two seconds of a small scene that the prompt names: MP4, 320 x 180, 24 frames. */
export function drawScene(prompt: string): Uint8Array {
  const known = drawn.get(prompt);
  if (known !== undefined) return known;
  const scene = readScene(prompt);
  const ground = drawGround(scene);
  const frames = Array.from({ length: FRAMES }, (_, number) => addMotion(scene, ground, number));
  const video = encodeVideo(SIZE, frames);
  const [oldest] = drawn.keys();
  if (drawn.size >= KEPT && oldest !== undefined) drawn.delete(oldest);
  drawn.set(prompt, video);
  return video;
}

/** One frame of one colour: for orders of a file that is smaller than a scene. */
function drawTiny(): Uint8Array {
  const area = { left: 0, top: 0, right: 32, bottom: 16 };
  return encodeVideo({ width: 32, height: 16, rate: 1 }, [{ frame: () => PALETTES.day.top, area }]);
}

function readScene(prompt: string): Scene {
  const seed = hash(prompt);
  const times = Object.keys(PALETTES) as (keyof typeof PALETTES)[];
  const time = TIMES.find(([words]) => words.test(prompt))?.[1] ?? times[seed % times.length] ?? 'day';
  const place =
    PLACES.find(([words]) => words.test(prompt))?.[1] ?? PLACES[(seed >> 4) % PLACES.length]?.[1] ?? 'hills';
  return { palette: PALETTES[time], isNight: time === 'night', place, seed };
}

/** What does not move: the sky with its light, hills, and the ground of the place. */
function drawGround({ palette, isNight, place, seed }: Scene): Frame {
  const sun = { x: 60 + (seed % 200), y: 34 + ((seed >> 8) % 36), radius: 13 };
  const far = (x: number): number => HORIZON - 20 - 12 * Math.sin(x / 37 + seed) - 7 * Math.sin(x / 17 + seed / 3);
  const near = (x: number): number => HORIZON + 6 + 8 * Math.sin(x / 47 + seed / 7) + 4 * Math.sin(x / 13 + seed / 5);
  const sky = (x: number, y: number): Colour => {
    const base = mix(palette.top, palette.bottom, Math.min(1, y / HORIZON));
    const distance = Math.hypot(x - sun.x, y - sun.y);
    if (distance < sun.radius) return palette.light;
    if (isNight && y < 90 && hash(`${x} ${y} ${seed}`) % 190 === 0) return palette.light;
    return mix(base, palette.light, Math.max(0, 0.5 - distance / 130));
  };
  const hills = (x: number, y: number): Colour => (y > far(x) ? palette.far : sky(x, y));
  return (x, y) => {
    if (place === 'water') {
      if (y < HORIZON) return hills(x, y);
      const mirrored = hills(x + 2 * Math.sin(y), 2 * HORIZON - y);
      return mix(mirrored, palette.near, 0.25 + (y - HORIZON) / 160);
    }
    if (place === 'city') return drawHouse({ palette, seed }, x, y) ?? hills(x, y);
    if (place === 'forest') return isTree(seed, x, y) ? mix(palette.near, [10, 40, 26], 0.4) : hills(x, y);
    return y > near(x) ? palette.near : hills(x, y);
  };
}

function drawHouse({ palette, seed }: Pick<Scene, 'palette' | 'seed'>, x: number, y: number): Colour | null {
  const column = Math.floor(x / 26);
  const top = HORIZON - 24 - (hash(`${column} ${seed}`) % 52);
  if (y > HORIZON + 34) return mix(palette.near, [20, 20, 24], 0.35);
  if (y < top || x % 26 === 0) return null;
  const isWindow = x % 26 > 4 && x % 26 < 23 && (x % 26) % 6 < 3 && (y - top) % 9 > 3 && y - top > 5;
  const isLit = isWindow && hash(`${column} ${Math.floor((x % 26) / 6)} ${Math.floor((y - top) / 9)} ${seed}`) % 3 > 0;
  if (isLit) return mix(palette.light, [255, 214, 120], 0.5);
  return mix(palette.near, palette.far, (hash(`${column}`) % 10) / 20);
}

function isTree(seed: number, x: number, y: number): boolean {
  if (y > HORIZON + 30) return true;
  return [0, 1].some((row) => {
    const width = 34 - 8 * row;
    const column = Math.floor((x + row * 17) / width);
    const height = 46 + (hash(`${column} ${row} ${seed}`) % 34);
    const away = Math.abs(((x + row * 17) % width) - width / 2);
    return y > HORIZON + 32 - height + (away * height) / (width / 1.7);
  });
}

/** What moves from left to right: a boat, a tram, or a balloon. */
function addMotion({ palette, place, seed }: Scene, ground: Frame, number: number): Step {
  const left = 40 + (seed % 90) + number * 4;
  const boat: Frame = (x, y) => {
    const [dx, dy] = [x - left, y - (HORIZON + 22)];
    const isHull = dy >= 0 && dy < 8 && dx > dy - 16 && dx < 16 - dy;
    const isSail = dy < -1 && dy > -26 && dx > 0 && dx < (dy + 26) * 0.55;
    const isJib = dy < -1 && dy > -20 && dx < -1 && dx > -(dy + 20) * 0.5;
    return isHull ? [150, 62, 48] : isSail || isJib ? [248, 246, 238] : ground(x, y);
  };
  const tram: Frame = (x, y) => {
    const [dx, dy] = [x - left, y - (HORIZON + 20)];
    if (dx < -24 || dx > 24 || dy < 0 || dy > 17) return ground(x, y);
    return dy > 3 && dy < 10 && (dx + 24) % 10 > 2 ? mix(palette.light, [255, 236, 170], 0.6) : [176, 48, 44];
  };
  const balloon: Frame = (x, y) => {
    const [dx, dy] = [x - left, y - 52];
    if (Math.hypot(dx, dy) < 15) return Math.floor((dx + 15) / 6) % 2 === 0 ? [214, 78, 60] : [250, 236, 214];
    return Math.abs(dx) < 4 && dy > 18 && dy < 24 ? [112, 78, 50] : ground(x, y);
  };
  const shown = {
    water: { frame: boat, top: HORIZON - 6, bottom: HORIZON + 32 },
    city: { frame: tram, top: HORIZON + 18, bottom: HORIZON + 40 },
    forest: { frame: balloon, top: 34, bottom: 78 },
    hills: { frame: balloon, top: 34, bottom: 78 },
  }[place];
  const { frame, top, bottom } = shown;
  return { frame, area: { left: left - 26, right: left + 26, top, bottom } };
}

const mix = (one: Colour, other: Colour, share: number): Colour => [
  one[0] + (other[0] - one[0]) * share,
  one[1] + (other[1] - one[1]) * share,
  one[2] + (other[2] - one[2]) * share,
];

/** FNV-1a: the same prompt looks the same. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value >>> 0;
}
