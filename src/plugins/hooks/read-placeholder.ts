import { err, ok, type Result } from '../../kernel/index.ts';

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
export function readPlaceholder(value: Record<string, unknown>): Result<FilePlaceholder, string> {
  const { __fileRef: ref, encoding, mimeType, maxBytes, ...others } = value;
  const invalid = (rule: string) => err(`invalid file placeholder: ${rule}`);
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return invalid(`unknown property ${JSON.stringify(unknown)}`);
  if (typeof ref !== 'string' || ref === '') return invalid('__fileRef must be a text');
  if (encoding !== 'base64' && encoding !== 'dataUrl') return invalid('encoding must be "base64" or "dataUrl"');
  if (mimeType !== undefined && (typeof mimeType !== 'string' || mimeType.trim() === '')) {
    return invalid('mimeType must be a text that is not blank');
  }
  if (maxBytes !== undefined && (typeof maxBytes !== 'number' || !Number.isInteger(maxBytes) || maxBytes <= 0)) {
    return invalid('maxBytes must be a whole number greater than 0');
  }
  return ok({ ref, encoding, mimeType, maxBytes });
}
