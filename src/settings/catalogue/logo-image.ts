const PREFIX = 'data:image/png;base64,';
const MAX_BYTES = 64 * 1024;
const MAX_PIXELS = 512;
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Length, type and checksum of a chunk. */
const CHUNK_FRAME = 12;

/**
 * Whether a data URL may be the logo: a PNG image that does not move, of at most 64 KiB and 512
 * pixels a side. Walks the chunks (W3C PNG, section 5.3): `acTL` makes an animation of it.
 */
export function isLogoImage(dataUrl: string): boolean {
  const bytes = decodePng(dataUrl);
  return bytes !== undefined && bytes.length <= MAX_BYTES && hasStillChunks(bytes);
}

/** The bytes of a data URL in strict Base64. */
export function decodePng(dataUrl: string): Buffer | undefined {
  if (!dataUrl.startsWith(PREFIX)) return undefined;
  const text = dataUrl.slice(PREFIX.length);
  const bytes = Buffer.from(text, 'base64');
  return text !== '' && bytes.toString('base64') === text ? bytes : undefined;
}

function hasStillChunks(bytes: Buffer): boolean {
  if (!bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE)) return false;
  let hasPixels = false;
  for (let at = SIGNATURE.length; at + CHUNK_FRAME <= bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const type = bytes.toString('latin1', at + 4, at + 8);
    const end = at + CHUNK_FRAME + length;
    if (end > bytes.length || type === 'acTL') return false;
    if (at === SIGNATURE.length && !isSmallHeader(bytes, type, length)) return false;
    if (type === 'IDAT') hasPixels = true;
    if (type === 'IEND') return hasPixels && end === bytes.length;
    at = end;
  }
  return false;
}

function isSmallHeader(bytes: Buffer, type: string, length: number): boolean {
  if (type !== 'IHDR' || length !== 13) return false;
  const sides = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  return sides.every((pixels) => pixels >= 1 && pixels <= MAX_PIXELS);
}
