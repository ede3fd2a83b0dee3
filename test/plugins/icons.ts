/** The beginning of a PNG of this size, up to the end of its header. */
export function pngBytes(width: number, height: number): Buffer {
  const bytes = Buffer.alloc(33);
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13]);
  bytes.write('IHDR', 12, 'latin1');
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes;
}
export const PNG_ICON = `data:image/png;base64,${pngBytes(16, 16).toString('base64')}`;
