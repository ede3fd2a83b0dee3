import type { RequestFile } from '../../tasks/index.ts';
import { httpErrors } from '../errors.ts';
import { BODY_LIMITS, formatBytes } from './body-limits.ts';
import { checkFieldName, decodeUtf8, type PartHeader } from './read-part-header.ts';
import type { Upload, Uploads, UploadWriter } from './upload-folder.ts';

/** Limits of form and multipart bodies (as in new-api). */
const MAX_FIELDS = 256;
const MAX_FILES = 32;
/** Of one text, and of all together: what JSON may have. */
const MAX_TEXT_BYTES = BODY_LIMITS.submission.maxBytes;

export type FormLimits = { uploads: Uploads; maxFileBytes: number };

/** Takes the content of one part, piece by piece; a piece is good until it is taken. */
export type PartTaker = { take(bytes: Uint8Array): Promise<void>; end(): Promise<void> };

export type Form = {
  fields: Record<string, string[]>;
  files: RequestFile[];
  /** Removes the files. Never throws. */
  release(): Promise<void>;
};

/** What a multipart body has brought so far: texts in memory, files where `uploads` puts them. */
export type FormCollector = {
  /** The next part. @throws http.bad_body when there are too many */
  begin(header: PartHeader): PartTaker;
  end(): Form;
  release(): Promise<void>;
};

export function collectForm({ uploads, maxFileBytes }: FormLimits): FormCollector {
  const fields = new Map<string, string[]>();
  const files: RequestFile[] = [];
  const writers: UploadWriter[] = [];
  let texts = 0;
  let textBytes = 0;

  function takeText(name: string): PartTaker {
    texts += 1;
    if (texts > MAX_FIELDS) throw tooMany(MAX_FIELDS, 'fields');
    const chunks: Uint8Array[] = [];
    let size = 0;
    return {
      async take(bytes) {
        size += bytes.byteLength;
        textBytes += bytes.byteLength;
        checkValueSize(name, size);
        if (textBytes > MAX_TEXT_BYTES) {
          throw httpErrors.too_large({
            message: `The texts of the form are together larger than ${formatBytes(MAX_TEXT_BYTES)}.`,
            details: { limit_bytes: MAX_TEXT_BYTES },
          });
        }
        chunks.push(new Uint8Array(bytes));
      },
      end: async () => addValue(fields, name, decodeUtf8(Buffer.concat(chunks))),
    };
  }

  function takeFile(name: string, filename: string, mimeType: string): PartTaker {
    if (writers.length === MAX_FILES) throw tooMany(MAX_FILES, 'files');
    const writer = uploads.begin();
    writers.push(writer);
    let size = 0;
    return {
      async take(bytes) {
        size += bytes.byteLength;
        if (size > maxFileBytes) {
          throw httpErrors.too_large({
            message: `The file "${name}" is larger than ${maxFileBytes} bytes.`,
            param: name,
            details: { limit_bytes: maxFileBytes },
          });
        }
        await writer.write(bytes);
      },
      end: async () => void files.push(requestFile(name, filename, mimeType, await writer.end(), files)),
    };
  }

  async function release(): Promise<void> {
    await Promise.all(writers.map((writer) => writer.remove()));
  }

  return {
    begin: ({ name, filename, contentType }) =>
      filename === undefined ? takeText(name) : takeFile(name, filename, contentType),
    end: () => ({ fields: Object.fromEntries(fields), files, release }),
    release,
  };
}

function requestFile(
  field: string,
  filename: string,
  mimeType: string,
  { size, stream }: Upload,
  earlier: readonly RequestFile[],
): RequestFile {
  const index = earlier.filter((other) => other.field === field).length;
  const ref = index === 0 ? `request_file:${field}` : `request_file:${field}#${index}`;
  return { ref, field, filename, mimeType, size, stream };
}

const tooMany = (limit: number, what: string) =>
  httpErrors.bad_body({ message: `The form has more than ${limit} ${what}.` });

function checkValueSize(name: string, bytes: number): void {
  if (bytes <= MAX_TEXT_BYTES) return;
  const message = `The form field "${name}" is larger than ${formatBytes(MAX_TEXT_BYTES)}.`;
  throw httpErrors.too_large({ message, param: name, details: { limit_bytes: MAX_TEXT_BYTES } });
}

/** The fields of an urlencoded body. @throws http.bad_body, http.too_large */
export function readUrlencoded(bytes: Uint8Array): Record<string, string[]> {
  const text = decodeUtf8(bytes);
  // Counted first: millions of empty fields fit into a body, and reading them would hold the
  // gateway for seconds.
  let separators = 0;
  for (let at = text.indexOf('&'); at !== -1; at = text.indexOf('&', at + 1)) {
    separators += 1;
    if (separators > MAX_FIELDS) throw tooMany(MAX_FIELDS, 'fields');
  }
  const fields = new Map<string, string[]>();
  let count = 0;
  // The separator in front keeps a `?` that the body begins with, which would be taken for that of
  // an address.
  for (const [name, value] of new URLSearchParams(`&${text}`)) {
    count += 1;
    if (count > MAX_FIELDS) throw tooMany(MAX_FIELDS, 'fields');
    checkFieldName(name);
    checkValueSize(name, Buffer.byteLength(value));
    addValue(fields, name, value);
  }
  return Object.fromEntries(fields);
}

/** In place: a copy for each value would cost the square of their number. */
export function addValue(values: Map<string, string[]>, name: string, value: string): void {
  const known = values.get(name);
  if (known) known.push(value);
  else values.set(name, [value]);
}
