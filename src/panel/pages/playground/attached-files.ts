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

function replacePlaceholders(
  body: RequestBody,
  files: AttachedFiles,
  render: (file: AttachedFiles[string]) => string,
): RequestBody {
  const replace = (value: unknown): unknown => {
    if (typeof value === 'string') {
      const file = Object.hasOwn(files, value) ? files[value] : undefined;
      return file === undefined ? value : render(file);
    }
    if (Array.isArray(value)) return value.map(replace);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, replace(child)]));
  };
  return replace(body) as RequestBody;
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
