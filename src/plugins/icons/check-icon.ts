import { err, ok, type Result, type Sentence, sentence } from '../../kernel/index.ts';
import { checkSvg } from './check-svg.ts';

/** Largest icon, decoded from base64. */
export const MAX_ICON_BYTES = 512 * 1024;
const MAX_BASE64 = Math.ceil(MAX_ICON_BYTES / 3) * 4;
/** Most pixels per side. Drawing a larger file of 512 KiB could take gigabytes. */
const MAX_PIXELS = 4096;
const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

export type IconImage = { mimeType: 'image/png' | 'image/svg+xml'; bytes: Uint8Array };

/**
 * Reads an icon from its data URL: a PNG or a harmless SVG of at most 512 KiB, in strict base64.
 * The error is the end of a sentence that begins with "The icon".
 */
export function readIcon(dataUrl: string): Result<IconImage, Sentence> {
  const comma = dataUrl.indexOf(',');
  const mimeType = MIME_TYPES.get(dataUrl.slice(0, Math.max(comma, 0)));
  if (!mimeType) return err(sentence('icon.data_url'));
  const text = dataUrl.slice(comma + 1);
  const bytes = text.length > MAX_BASE64 ? undefined : Buffer.from(text, 'base64');
  if (!bytes || bytes.length > MAX_ICON_BYTES) return err(sentence('icon.size', { bytes: MAX_ICON_BYTES }));
  if (text === '' || bytes.toString('base64') !== text) return err(sentence('icon.base64'));
  const checked = mimeType === 'image/png' ? checkPng(bytes) : checkSvg(bytes);
  return checked.ok ? ok({ mimeType, bytes }) : checked;
}

const MIME_TYPES = new Map<string, IconImage['mimeType']>([
  ['data:image/png;base64', 'image/png'],
  ['data:image/svg+xml;base64', 'image/svg+xml'],
]);

/**
 * Checks the signature and the header chunk that every PNG begins with (W3C PNG, section 11.2.1):
 * length 13, IHDR, width and height.
 */
function checkPng(bytes: Buffer): Result<null, Sentence> {
  if (!bytes.subarray(0, PNG_SIGNATURE.length).equals(PNG_SIGNATURE)) return err(sentence('icon.png_signature'));
  if (bytes.length < 33 || bytes.readUInt32BE(8) !== 13 || bytes.toString('latin1', 12, 16) !== 'IHDR')
    return err(sentence('icon.png_header'));
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  if (width === 0 || height === 0 || width > MAX_PIXELS || height > MAX_PIXELS)
    return err(sentence('icon.pixels', { width, height, max: MAX_PIXELS }));
  return ok(null);
}
