import type { FileReference } from '../../../contracts/v1.d.ts';
import { err, isObject, type Json, ok, type Result, type Sentence, sentence } from '../../kernel/index.ts';
import { isFieldValue, isHeaderName, isHostHeader, MAX_HEADERS } from '../../upstream/index.ts';

export type DescriptorPart = { name: string; value: string } | { name: string; fileRef: string; filename?: string };
export type DescriptorBody =
  | { kind: 'none' }
  | { kind: 'text'; text: string }
  /** May contain file placeholders, each for a file of the request. */
  | { kind: 'json'; value: Json }
  | { kind: 'multipart'; parts: DescriptorPart[] };

export function readHeaders(value: unknown): Result<Record<string, string>, Sentence> {
  if (value === undefined || value === null) return ok({});
  if (!isObject(value)) return err(sentence('hook.headers_object'));
  const entries = Object.entries(value);
  if (entries.length > MAX_HEADERS) return err(sentence('hook.headers_max', { max: MAX_HEADERS }));
  for (const [name, text] of entries) {
    if (!isHeaderName(name)) return err(sentence('hook.header_name', { name: JSON.stringify(name) }));
    if (isHostHeader(name)) return err(sentence('hook.header_host', { name }));
    if (typeof text !== 'string') return err(sentence('hook.header_string', { name }));
    if (!isFieldValue(text)) return err(sentence('hook.header_value', { name }));
  }
  return ok(Object.fromEntries(entries) as Record<string, string>);
}

/** Members that a descriptor leaves out, however it does so. */
export const isLeftOut = (value: unknown): boolean => value === undefined || value === null || value === '';

/** The method in upper case, which is one of `allowed`, or `fallback` if there is none. */
export function readMethod(value: unknown, fallback: string, allowed: readonly string[]): Result<string, Sentence> {
  if (isLeftOut(value)) return ok(fallback);
  const method = typeof value === 'string' ? value.trim().toUpperCase() : '';
  return allowed.includes(method)
    ? ok(method)
    : err(sentence('hook.one_of', { name: 'method', values: allowed.join(', ') }));
}

/** Refused in texts that are stored: PostgreSQL accepts no NUL, and nobody needs the others. */
export const CONTROL = /\p{Cc}/u;

/** An optional string field; blank counts as absent. */
export function readText(descriptor: Record<string, unknown>, name: string): Result<string | undefined, Sentence> {
  const value = descriptor[name];
  if (value === undefined || value === null) return ok(undefined);
  if (typeof value !== 'string') return err(sentence('hook.string', { name }));
  if (CONTROL.test(value)) return err(sentence('hook.control', { name }));
  return ok(value.trim() === '' ? undefined : value);
}

/**
 * The files of the client's request. `unknown`: a trial that does not list them; only the form of
 * references is then checked.
 */
export type KnownFiles = readonly FileReference[] | 'unknown';

export function readBody(descriptor: Record<string, unknown>, files: KnownFiles): Result<DescriptorBody, Sentence> {
  const { body, parts } = descriptor;
  const bodyType = isLeftOut(descriptor.bodyType) ? 'json' : descriptor.bodyType;
  if (bodyType === 'multipart') return readParts(parts, files);
  if (bodyType !== 'json') return err(sentence('hook.body_type'));
  if (body === undefined || body === null) return ok({ kind: 'none' });
  if (typeof body === 'string') return ok({ kind: 'text', text: body });
  const problem = findBadPlaceholder(body as Json, files);
  return problem ? err(problem) : ok({ kind: 'json', value: body as Json });
}

const FILE_PREFIX = 'request_file:';

/** What is wrong with a file reference: there is no such file, or it is too large. */
function findBadReference(ref: unknown, files: KnownFiles, maxBytes = Number.POSITIVE_INFINITY): Sentence | undefined {
  const file = files === 'unknown' ? undefined : files.find((candidate) => candidate.ref === ref);
  if (file)
    return file.size > maxBytes ? sentence('hook.file_size', { name: file.filename, bytes: maxBytes }) : undefined;
  const maybe = files === 'unknown' && typeof ref === 'string' && ref.startsWith(FILE_PREFIX);
  return maybe ? undefined : sentence('hook.file_unknown', { name: JSON.stringify(ref) });
}

function readParts(parts: unknown, files: KnownFiles): Result<DescriptorBody, Sentence> {
  if (!Array.isArray(parts)) return err(sentence('hook.parts'));
  const read: DescriptorPart[] = [];
  for (const part of parts) {
    if (!isObject(part) || typeof part.name !== 'string' || part.name === '') return err(sentence('hook.part_name'));
    const { name, value, fileRef, filename } = part;
    if (isLeftOut(fileRef)) {
      if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
        return err(sentence('hook.part_value', { name }));
      }
      read.push({ name, value: String(value) });
      continue;
    }
    const problem = findBadReference(fileRef, files);
    if (problem !== undefined) return err(problem);
    read.push({ name, fileRef: String(fileRef), ...(typeof filename === 'string' && filename ? { filename } : {}) });
  }
  return ok({ kind: 'multipart', parts: read });
}

/** Checks every object of a body. Iterative, because the plugin chooses the depth. */
function findBadPlaceholder(body: Json, files: KnownFiles): Sentence | undefined {
  const pending: unknown[] = [body];
  while (pending.length > 0) {
    const value = pending.pop();
    if (Array.isArray(value)) {
      for (const item of value) pending.push(item);
    } else if (isObject(value)) {
      if (isPlaceholder(value)) {
        const read = readPlaceholder(value);
        if (!read.ok) return read.error;
        const problem = findBadReference(read.value.ref, files, read.value.maxBytes);
        if (problem !== undefined) return problem;
      } else {
        for (const member of Object.values(value)) pending.push(member);
      }
    }
  }
  return undefined;
}

/** What a plugin writes into a JSON body where the bytes of a file belong. */
export type FilePlaceholder = {
  ref: string;
  encoding: 'base64' | 'dataUrl';
  /** Overrides the type that came with the file. */
  mimeType: string | undefined;
  /** The vendor's size limit. */
  maxBytes: number | undefined;
};

/** Whether an object of a body is a placeholder for a file. */
export const isPlaceholder = (value: Record<string, unknown>): boolean => Object.hasOwn(value, '__fileRef');

/** Checks the form of a placeholder, not whether there is such a file. */
export function readPlaceholder(value: Record<string, unknown>): Result<FilePlaceholder, Sentence> {
  const { __fileRef: ref, encoding, mimeType: type, maxBytes: most, ...others } = value;
  const [mimeType, maxBytes] = [type ?? undefined, most ?? undefined];
  const invalid = (fault: Sentence) => err(sentence('hook.placeholder', { fault }));
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return invalid(sentence('hook.placeholder_property', { name: JSON.stringify(unknown) }));
  if (typeof ref !== 'string' || ref === '') return invalid(sentence('hook.text', { name: '__fileRef' }));
  if (encoding !== 'base64' && encoding !== 'dataUrl') return invalid(sentence('hook.encoding'));
  if (mimeType !== undefined && (typeof mimeType !== 'string' || mimeType.trim() === '')) {
    return invalid(sentence('hook.text_blank', { name: 'mimeType' }));
  }
  if (maxBytes !== undefined && (typeof maxBytes !== 'number' || !Number.isInteger(maxBytes) || maxBytes <= 0)) {
    return invalid(sentence('hook.whole_positive', { name: 'maxBytes' }));
  }
  return ok({ ref, encoding, mimeType, maxBytes });
}
