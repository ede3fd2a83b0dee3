import { err, ok, type Result } from '../../kernel/index.ts';

/** Largest icon, decoded. */
const MAX_ICON_BYTES = 512 * 1024;
const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

export type IconImage = { mimeType: string; bytes: Uint8Array };

/** An icon from its data URL: a PNG of at most 512 KiB in strict base64; what is wrong with it otherwise. */
export function readIcon(dataUrl: string): Result<IconImage, string> {
  const comma = dataUrl.indexOf(',');
  const header = dataUrl.slice(0, Math.max(comma, 0));
  if (header === 'data:image/svg+xml;base64')
    return err('SVG icons cannot be checked for active content here; send a PNG');
  if (header !== 'data:image/png;base64')
    return err('must be a base64 data URL of a PNG image (data:image/png;base64,…)');
  const text = dataUrl.slice(comma + 1);
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length > MAX_ICON_BYTES)
    return err(`is ${bytes.length} bytes large; at most ${MAX_ICON_BYTES} are allowed`);
  if (text === '' || bytes.toString('base64') !== text) return err('is not valid base64');
  if (!bytes.subarray(0, PNG_SIGNATURE.length).equals(PNG_SIGNATURE))
    return err('is no PNG image: its signature is missing');
  return ok({ mimeType: 'image/png', bytes });
}
