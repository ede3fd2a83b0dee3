/** Reads the header lines of the parts of a multipart body. */
import { type Sentence, sentence } from '../../kernel/index.ts';
import { httpErrors } from '../responses/errors.ts';

/** The header of a part in a multipart body. */
export type PartHeader = {
  name: string;
  /** Set for files only; it may be empty. */
  filename: string | undefined;
  /** The part's own Content-Type as sent; empty if there is none. */
  contentType: string;
};

const MAX_NAME_BYTES = 256;
const MAX_FILENAME_BYTES = 255;
const MAX_CONTENT_TYPE = 255;
/** Bytes of all header lines of a part: several times the longest allowed names. */
export const MAX_PART_HEADER_BYTES = 8 * 1024;

const FORM_DATA = /^\s*form-data\s*/iy;
const PARAMETER = /;\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"\s*|([^\s;"]+)\s*)?/y;
const PRINTABLE = /^[\t\x20-\x7e]*$/;
const PLAIN_ENCODINGS = ['', '7bit', '8bit', 'binary'];

/**
 * Reads the header lines of a part (RFC 7578). Each value is a string of bytes.
 * @throws http.bad_body naming what is wrong, http.unsupported_media for an encoded part
 */
export function readPartHeader(lines: Readonly<Record<string, readonly string[]>>): PartHeader {
  const size = Object.entries(lines).reduce((sum, [name, values]) => sum + name.length + values.join('').length, 0);
  // The parser drops everything beyond its limit, so a header near the limit may be incomplete.
  if (size > MAX_PART_HEADER_BYTES / 2) throw broken(sentence('http.part_header'));
  const disposition = readParameters(only(lines, 'content-disposition'));
  const name = disposition.get('name');
  if (name === undefined) throw broken(sentence('http.part_name'));
  checkFieldName(name);
  const filename = disposition.get('filename*') ?? disposition.get('filename');
  if (filename !== undefined && Buffer.byteLength(filename) > MAX_FILENAME_BYTES) {
    throw broken(sentence('http.file_name_length', { max: MAX_FILENAME_BYTES }), name);
  }
  const contentType = only(lines, 'content-type').trim();
  if (contentType.length > MAX_CONTENT_TYPE || !PRINTABLE.test(contentType)) {
    throw broken(sentence('http.part_type', { name }), name);
  }
  if (/^multipart\//i.test(contentType)) throw broken(sentence('http.part_nested', { name }), name);
  if (!PLAIN_ENCODINGS.includes(only(lines, 'content-transfer-encoding').trim().toLowerCase())) {
    throw httpErrors.unsupported_media({
      message: sentence('http.part_encoded', { name }),
      param: name,
    });
  }
  return { name, filename, contentType };
}

/** @throws http.bad_body */
export function checkFieldName(name: string): void {
  if (name !== '' && Buffer.byteLength(name) <= MAX_NAME_BYTES) return;
  throw broken(sentence('http.field_name_length', { max: MAX_NAME_BYTES }));
}

const broken = (message: Sentence, param?: string) =>
  httpErrors.bad_body({ message, ...(param === undefined ? {} : { param }) });

function only(lines: Readonly<Record<string, readonly string[]>>, name: string): string {
  const [value = '', ...others] = lines[name] ?? [];
  if (others.length > 0) throw broken(sentence('http.part_twice', { name }));
  return value;
}

/**
 * Accepts each parameter once: with two of a name, this parser and the vendor's could each use a
 * different one.
 */
function readParameters(disposition: string): Map<string, string> {
  const fault = () => broken(sentence('http.part_disposition'));
  const parameters = new Map<string, string>();
  FORM_DATA.lastIndex = 0;
  if (!FORM_DATA.test(disposition)) throw fault();
  let at = FORM_DATA.lastIndex;
  while (at < disposition.length) {
    PARAMETER.lastIndex = at;
    const [, key = '', quoted, bare = ''] = PARAMETER.exec(disposition) ?? [];
    const name = key.toLowerCase();
    if (name === '' || parameters.has(name)) throw fault();
    at = PARAMETER.lastIndex;
    parameters.set(name, name.endsWith('*') ? decodeExtended(bare) : decodeQuoted(quoted ?? bare));
  }
  return parameters;
}

/**
 * Browsers and fetch percent-encode quotes and line breaks (WHATWG form encoding); mail programs
 * use a backslash.
 */
function decodeQuoted(bytes: string): string {
  const text = decodeUtf8(Buffer.from(bytes, 'latin1'));
  return text
    .replace(/\\(["\\])/g, '$1')
    .replace(/%(22|0D|0A)/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** `UTF-8''a%20name` (RFC 5987), which older HTTP libraries write for names beyond ASCII. */
function decodeExtended(value: string): string {
  const encoded = /^utf-8'[^']*'(.*)$/i.exec(value)?.[1];
  try {
    if (encoded !== undefined) return decodeURIComponent(encoded);
  } catch {
    // Reported below.
  }
  throw broken(sentence('http.file_name_encoding'));
}

/** @throws http.bad_body */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw broken(sentence('http.form_encoding'));
  }
}
