/** How many tokens the input of a relayed request may have, before its vendor counts them. */
import type { ExtractedFile, ExtractedFiles } from '../../files/index.ts';
import { isObject, type Json } from '../../kernel/index.ts';
import { findFiles } from '../../vendors/index.ts';
import { BYTES_PER_TOKEN } from './read-usage.ts';

/** An image, or a file that lies elsewhere; vendors count their size in ways of their own. */
export const TOKENS_PER_FILE = 1000;
/** No model counts more of what it hears or watches. */
export const TOKENS_PER_SECOND = 32;
const BYTES_PER_SECOND = 1000;

/** Members that a model reads as they are written, whatever they begin with. */
const TEXTS: ReadonlySet<string> = new Set([
  'content',
  'text',
  'input',
  'prompt',
  'instructions',
  'arguments',
  'output',
]);
/** Members that hold a file as Base64. */
const FILES: ReadonlySet<string> = new Set(['data', 'file_data', 'b64_json']);
/** Members that hold a file or its address. */
const FILE_NAME = /(?:ur[il]|image|file|audio|video|mask)s?$/i;
const ADDRESS = /^[a-z][a-z0-9+.-]{1,20}:\/\//i;
const PLAYED = /^(?:(?:input_)?(?:audio|video)|(?:audio|video)_url)$/;

const DATA_URI = /^data:([\w.+/-]{0,100})[^,]{0,200};base64,/i;
const MAX_URI_START = 320;
/** Characters of a text that decide whether it is Base64. */
const SAMPLE = 4096;
const NO_BASE64 = /[^\w+/=\r\n-]/;
/** The first bytes of PNG, JPEG, GIF, WebP, BMP, TIFF, ICO, HEIC and AVIF, in hexadecimal. */
const IMAGE =
  /^(?:89504e47|ffd8ff|47494638|52494646.{8}57454250|424d|49492a00|4d4d002a|00000100|.{8}66747970(?:686569(?:63|78)|6d696631|6d736631|617669(?:66|73)))/;
const IMAGE_BASE64 = 24;
/** How an image begins. */
const PNG = 'iVBORw0KGgo=';
/** A line end in Base64 as JSON writes it. */
const LINE_END = /\\[nr]/g;

/** Extracted files, whose placeholders stand in the body, with the beginning of their Base64. */
type Started = {
  prefix: string;
  files: (Pick<ExtractedFile, 'size' | 'decodedSize'> & { start: string })[];
  /** A file was counted by its bytes. */
  hasLargeFile: boolean;
};

/**
 * `type`: the media type that is written beside the data; `isPlayed`: sound or film; `started`: of
 * the whole body.
 */
type Place = { name: string; type: string; isPlayed: boolean; started: Started };
const NOWHERE = { name: '', type: '', isPlayed: false };
const NONE: ExtractedFiles = { prefix: '', files: [] };

/**
 * Estimates the tokens of the members of a request: of a text and a name a token for four bytes,
 * of a number one, of an image or a remote file 1,000, of sound and film as many as they may
 * be long, and of any other file as many as its bytes are as a text. `extracted`: what tokens stand
 * for in the members.
 */
export async function estimateInputTokens(values: Json, extracted: ExtractedFiles = NONE): Promise<number> {
  const started: Started = { prefix: extracted.prefix, files: [], hasLargeFile: false };
  for (const file of extracted.files) started.files.push(await readStart(file));
  return Math.ceil(countBytes(values, { ...NOWHERE, started }) / BYTES_PER_TOKEN);
}

/**
 * Whether a file was counted by its bytes, of which vendors count far less. An extracted file that
 * is labelled as an image is taken for one.
 */
export function hasLargeFile(values: Json, { prefix, files }: ExtractedFiles = NONE): boolean {
  const started = { prefix, files: files.map((file) => ({ ...file, start: PNG })), hasLargeFile: false };
  countBytes(values, { ...NOWHERE, started });
  return started.hasLargeFile;
}

async function readStart({ size, decodedSize, stream }: ExtractedFile): Promise<Started['files'][number]> {
  for await (const chunk of stream()) {
    const text = Buffer.from(chunk.buffer, chunk.byteOffset, Math.min(chunk.byteLength, SAMPLE)).toString('latin1');
    return { size, decodedSize, start: text.replaceAll(LINE_END, '') };
  }
  return { size, decodedSize, start: '' };
}

/** Size of a text, including the extracted files that its placeholders stand for. */
const textBytes = (text: string, { files, prefix }: Started): number =>
  findFiles(text, { files, prefix }).reduce((sum, { size }) => sum + size, Buffer.byteLength(text));

function countBytes(value: Json, place: Place): number {
  if (typeof value === 'string') return countText(value, place);
  if (typeof value === 'number') return BYTES_PER_TOKEN;
  let bytes = 0;
  if (Array.isArray(value)) for (const item of value) bytes += countBytes(item, place);
  else if (isObject(value)) {
    const { mime_type, mimeType = mime_type, media_type = mimeType, mediaType = media_type } = value;
    const type = typeof mediaType === 'string' ? mediaType : '';
    for (const name of Object.keys(value)) {
      const isPlayed = place.isPlayed || PLAYED.test(name);
      bytes += textBytes(name, place.started) + countBytes(value[name] ?? null, { ...place, name, type, isPlayed });
    }
  }
  return bytes;
}

function countText(text: string, { name, type: typeBeside, isPlayed, started }: Place): number {
  if (TEXTS.has(name)) return textBytes(text, started);
  const uri = DATA_URI.exec(text.slice(0, MAX_URI_START));
  const isNamed = FILES.has(name) || FILE_NAME.test(name);
  if (!uri && !isNamed) return textBytes(text, started);
  const start = uri?.[0].length ?? 0;
  const type = (typeBeside || uri?.[1] || '').toLowerCase();
  const extracted = findFiles(text, started);
  const isExtracted = text.startsWith(started.prefix, start);
  const sample = (isExtracted && extracted[0]?.start) || text.slice(start, start + SAMPLE);
  const isBase64 = !NO_BASE64.test(sample) && (uri !== null || FILES.has(name) || isImage(sample));
  const least = TOKENS_PER_FILE * BYTES_PER_TOKEN;
  if (!isBase64) {
    const isFile = uri !== null || FILES.has(name) || ADDRESS.test(sample);
    return Math.max(isFile ? least : 0, textBytes(text, started));
  }
  // A vendor reads a file as what its label or name says: text may begin like an image.
  const mayBeImage = type === '' ? !/file|^data$/i.test(name) : type.startsWith('image/');
  if (mayBeImage && isImage(sample)) return least;
  const bytes = extracted.reduce((sum, { decodedSize }) => sum + decodedSize, ((text.length - start) * 3) / 4);
  const hasSeconds = isPlayed || /^(?:audio|video)\//.test(type);
  const counted = hasSeconds ? (bytes / BYTES_PER_SECOND) * TOKENS_PER_SECOND * BYTES_PER_TOKEN : bytes;
  started.hasLargeFile ||= counted > least;
  return Math.max(least, counted);
}

const isImage = (base64: string): boolean =>
  IMAGE.test(Buffer.from(base64.slice(0, IMAGE_BASE64), 'base64').toString('hex'));
