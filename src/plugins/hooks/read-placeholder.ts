import { err, ok, type Result } from '../../kernel/index.ts';

/** What a plugin writes into a JSON body where the bytes of a file belong. */
export type FilePlaceholder = {
  ref: string;
  encoding: 'base64' | 'dataUrl';
  /** Instead of the type that came with the file. */
  mimeType: string | undefined;
  /** The vendor's own cap. */
  maxBytes: number | undefined;
};

/** Whether an object of a body stands for a file. */
export const isPlaceholder = (value: Record<string, unknown>): boolean => Object.hasOwn(value, '__fileRef');

/** Checks the form of a placeholder; whether there is such a file is another question. */
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
