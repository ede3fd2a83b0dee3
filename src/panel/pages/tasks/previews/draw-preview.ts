/** The largest previews that the gateway accepts. */
const maxSide = 512;
const maxBytes = 64 * 1024;
const qualities = [0.8, 0.6, 0.4, 0.2];

const loadMs = 20_000;
/** Sound is decoded whole in memory, at about ten times its size. */
const maxSoundBytes = 20 * 1024 * 1024;
const wave = { width: 512, height: 128, bars: 128, colour: '#2f8f6b' };
/** Moments of a video, as parts of its length; the first that is not dark is drawn. */
const moments = [0.1, 0.3, 0.6];
const darkBelow = 24;

type Source = { type: 'video' | 'audio' | 'image'; path: string };

/**
 * Draws a small still picture of a result in the browser; null where none comes out small enough.
 * Rejects if the result cannot be loaded.
 */
export async function drawPreview({ type, path }: Source): Promise<Blob | null> {
  if (type === 'video') return encode(await drawVideo(path));
  if (type === 'image') return encode(await drawImage(path));
  return encode(await drawSound(path));
}

async function drawVideo(path: string): Promise<HTMLCanvasElement> {
  const video = document.createElement('video');
  video.muted = true;
  video.preload = 'auto';
  // Results may have an origin of their own; without this the canvas could not be read.
  video.crossOrigin = 'anonymous';
  video.src = path;
  try {
    await waitFor(video, 'loadeddata');
    const canvas = createCanvas(video.videoWidth, video.videoHeight);
    for (const moment of Number.isFinite(video.duration) ? moments : []) {
      video.currentTime = Math.min(video.duration * moment, 30);
      await waitFor(video, 'seeked');
      draw(canvas, video);
      if (!isDark(canvas)) return canvas;
    }
    draw(canvas, video);
    return canvas;
  } finally {
    // Ends the download.
    video.removeAttribute('src');
    video.load();
  }
}

async function drawImage(path: string): Promise<HTMLCanvasElement> {
  const image = new Image();
  image.crossOrigin = 'anonymous';
  image.src = path;
  await image.decode();
  const canvas = createCanvas(image.naturalWidth, image.naturalHeight);
  draw(canvas, image);
  return canvas;
}

async function drawSound(path: string): Promise<HTMLCanvasElement> {
  const response = await fetch(path, { signal: AbortSignal.timeout(loadMs) });
  if (!response.ok || Number(response.headers.get('content-length') ?? 0) > maxSoundBytes) {
    await response.body?.cancel();
    throw new Error('The sound cannot be loaded.');
  }
  const sound = await new OfflineAudioContext(1, 1, 22_050).decodeAudioData(await response.arrayBuffer());
  const canvas = createCanvas(wave.width, wave.height);
  const context = readContext(canvas);
  context.fillStyle = wave.colour;
  const step = wave.width / wave.bars;
  for (const [index, peak] of readPeaks(sound.getChannelData(0)).entries()) {
    const height = Math.max(2, peak * (wave.height - 8));
    context.fillRect(index * step, (wave.height - height) / 2, step - 1, height);
  }
  return canvas;
}

/** The loudest sample of each bar, from 0 to 1 for the loudest of all. */
function readPeaks(samples: Float32Array): number[] {
  const size = Math.max(1, Math.floor(samples.length / wave.bars));
  const peaks = Array.from({ length: wave.bars }, (_, bar) => {
    let peak = 0;
    for (const sample of samples.subarray(bar * size, (bar + 1) * size)) peak = Math.max(peak, Math.abs(sample));
    return peak;
  });
  const loudest = Math.max(...peaks, 0.01);
  return peaks.map((peak) => peak / loudest);
}

function createCanvas(width: number, height: number): HTMLCanvasElement {
  const scale = Math.min(1, maxSide / Math.max(width, height, 1));
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  return canvas;
}

function readContext(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (context === null) throw new Error('This browser cannot draw.');
  return context;
}

function draw(canvas: HTMLCanvasElement, source: CanvasImageSource): void {
  readContext(canvas).drawImage(source, 0, 0, canvas.width, canvas.height);
}

function isDark(canvas: HTMLCanvasElement): boolean {
  const { data } = readContext(canvas).getImageData(0, 0, canvas.width, canvas.height);
  let sum = 0;
  let pixels = 0;
  for (let at = 0; at < data.length; at += 64, pixels += 1)
    sum += Math.max(data[at] ?? 0, data[at + 1] ?? 0, data[at + 2] ?? 0);
  return sum / pixels < darkBelow;
}

async function encode(canvas: HTMLCanvasElement): Promise<Blob | null> {
  for (const quality of qualities) {
    // Browsers that write no WebP give a PNG instead, which is larger than a JPEG.
    const webp = await toBlob(canvas, 'image/webp', quality);
    const blob = webp?.type === 'image/webp' ? webp : await toBlob(canvas, 'image/jpeg', quality);
    if (blob !== null && blob.size <= maxBytes) return blob;
  }
  return null;
}

const toBlob = (canvas: HTMLCanvasElement, type: string, quality: number): Promise<Blob | null> =>
  new Promise((resolve) => canvas.toBlob(resolve, type, quality));

function waitFor(video: HTMLVideoElement, event: 'loadeddata' | 'seeked'): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = new AbortController();
    const end = (settle: () => void) => () => {
      ended.abort();
      clearTimeout(timer);
      settle();
    };
    const fail = end(() => reject(new Error('The video cannot be loaded.')));
    const timer = setTimeout(fail, loadMs);
    video.addEventListener(event, end(resolve), { signal: ended.signal });
    video.addEventListener('error', fail, { signal: ended.signal });
  });
}
