import { err, isObject, type Json, ok, type Result } from '../kernel/index.ts';
import type { RequestFile } from './types.ts';

/** The only properties that a placeholder may have. */
const PLACEHOLDER_KEYS = new Set(['__fileRef', 'encoding', 'mimeType', 'maxBytes']);

/**
 * Replaces file placeholders at any depth by the file's bytes as Base64 or as a data URL. `maxBytes` bounds each file and all
 * of them together; a placeholder's own `maxBytes` may only lower it for its file.
 */
export async function inlineFiles(
  body: Json,
  files: readonly RequestFile[],
  maxBytes: number,
): Promise<Result<Json, { message: string }>> {
  let total = 0;

  async function visit(value: Json): Promise<Result<Json, { message: string }>> {
    if (Array.isArray(value)) {
      const out: Json[] = [];
      for (const child of value) {
        const done = await visit(child);
        if (!done.ok) return done;
        out.push(done.value);
      }
      return ok(out);
    }
    if (!isObject(value)) return ok(value);
    if (Object.hasOwn(value, '__fileRef')) return replace(value);
    const entries: [string, Json][] = [];
    for (const [key, child] of Object.entries(value)) {
      const done = await visit(child as Json);
      if (!done.ok) return done;
      entries.push([key, done.value]);
    }
    return ok(Object.fromEntries(entries));
  }

  async function replace(placeholder: Record<string, unknown>): Promise<Result<Json, { message: string }>> {
    const unknown = Object.keys(placeholder).find((key) => !PLACEHOLDER_KEYS.has(key));
    if (unknown !== undefined) return err({ message: `invalid file placeholder: unknown property "${unknown}"` });
    const { __fileRef: ref, encoding, mimeType, maxBytes: own } = placeholder;
    if (typeof ref !== 'string' || ref === '')
      return err({ message: 'invalid file placeholder: __fileRef must be a text' });
    if (encoding !== 'base64' && encoding !== 'dataUrl') {
      return err({ message: 'invalid file placeholder: encoding must be base64 or dataUrl' });
    }
    if (mimeType !== undefined && (typeof mimeType !== 'string' || mimeType.trim() === '')) {
      return err({ message: 'invalid file placeholder: mimeType must be a non-empty text' });
    }
    if (own !== undefined && (typeof own !== 'number' || !Number.isInteger(own) || own <= 0)) {
      return err({ message: 'invalid file placeholder: maxBytes must be an integer greater than 0' });
    }
    const file = files.find((candidate) => candidate.ref === ref);
    if (!file) return err({ message: `unknown file reference "${ref}"` });
    const limit = Math.min(maxBytes, typeof own === 'number' ? own : maxBytes);
    if (file.size > limit) return err({ message: `the file "${file.filename}" is larger than ${limit} bytes` });
    total += file.size;
    if (total > maxBytes)
      return err({ message: `the files of this request are together larger than ${maxBytes} bytes` });
    const base64 = Buffer.from(await file.bytes()).toString('base64');
    if (encoding === 'base64') return ok(base64);
    return ok(`data:${mimeType ?? (file.mimeType || 'application/octet-stream')};base64,${base64}`);
  }

  return visit(body);
}
