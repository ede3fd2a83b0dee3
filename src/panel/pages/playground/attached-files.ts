import type { CallableModel } from '../../api/types.ts';
import { findMedium } from './find-medium.ts';

/** Files of the request, keyed by their placeholder in the body. */
export type AttachedFiles = Readonly<Record<string, { type: string; dataUrl: string }>>;

export type RequestBody = Readonly<Record<string, unknown>>;

/** A data URL is a third larger than its file, and the gateway accepts 16 MiB of JSON. */
export const maxFileBytes = 11 * 1024 * 1024;

type Attached = { body: RequestBody; files: AttachedFiles; reading: Readonly<Record<string, File>> };

/** The size of all files that a request has or is about to have, except that of `field`. */
export function attachedBytes({ body, files, reading }: Attached, field?: string): number {
  let sum = 0;
  for (const name of new Set([...Object.keys(body), ...Object.keys(reading)])) {
    if (name === field) continue;
    const value = body[name];
    const read = typeof value === 'string' ? (files[value]?.dataUrl.length ?? 0) : 0;
    sum += reading[name]?.size ?? (read * 3) / 4;
  }
  return sum;
}

/** The placeholder of a file: its name, numbered if another file has the same name. */
export function filePlaceholder(files: AttachedFiles, name: string, dataUrl: string): string {
  for (let number = 1; ; number += 1) {
    const placeholder = `<file: ${number === 1 ? name : `${name} (${number})`}>`;
    const existing = Object.hasOwn(files, placeholder) ? files[placeholder] : undefined;
    if (existing === undefined || existing.dataUrl === dataUrl) return placeholder;
  }
}

/** Replaces each placeholder with the data URL that the API accepts. */
export const withFiles = (body: RequestBody, files: AttachedFiles): RequestBody =>
  replacePlaceholders(body, files, ({ dataUrl }) => dataUrl);

/** For code samples: replaces each placeholder with a shortened data URL. */
export const withFileHints = (body: RequestBody, files: AttachedFiles): RequestBody =>
  replacePlaceholders(body, files, ({ type }) => `data:${type};base64,…`);

/** For a quote: replaces each placeholder with the shortest data URL that a plugin takes. */
export const withFileStandIns = (body: RequestBody, files: AttachedFiles): RequestBody =>
  replacePlaceholders(body, files, ({ type }) => `data:${type};base64,AAAA`);

const replacePlaceholders = (
  body: RequestBody,
  files: AttachedFiles,
  render: (file: AttachedFiles[string]) => string,
): RequestBody =>
  mapTexts(body, (text) => {
    const file = Object.hasOwn(files, text) ? files[text] : undefined;
    return file === undefined ? text : render(file);
  });

function mapTexts(body: RequestBody, map: (text: string) => string): RequestBody {
  const visit = (value: unknown): unknown => {
    if (typeof value === 'string') return map(value);
    if (Array.isArray(value)) return value.map(visit);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, visit(child)]));
  };
  return visit(body) as RequestBody;
}

/** Rejects if the browser cannot read the file. */
export function readDataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(String(reader.result)));
    reader.addEventListener('error', () => reject(reader.error));
    reader.readAsDataURL(file);
  });
}

type Offer = Pick<CallableModel, 'model' | 'schema' | 'surfaces' | 'examples'>;

const defaultField = 'image';

/**
 * The field for a dropped or pasted file: the first empty input of its kind that the model
 * declares. Images also go to `image`, the next one beside it: plugins declare only what a model
 * requires. Null: the model takes no file of the kind, or has no room for one more.
 */
export function chooseFileField(offer: Offer, type: string, taken: ReadonlySet<string>): string | null {
  const kind = type.split('/')[0] ?? '';
  const declared = Object.entries(offer.schema.properties)
    // A short text is a name or an address, and no file.
    .filter(([, field]) => field['x-input'] === kind && (kind !== 'text' || field['x-example'] === undefined))
    .map(([name]) => name);
  const empty = declared.find((name) => !taken.has(name));
  if (empty !== undefined) return empty;
  if (kind !== 'image' || !takesImages(offer)) return null;
  let name = defaultField;
  for (let number = 2; taken.has(name); number += 1) name = `${defaultField}_${number}`;
  return name;
}

const takesImages = (offer: Offer): boolean => ['video', 'image'].includes(findMedium(offer));
