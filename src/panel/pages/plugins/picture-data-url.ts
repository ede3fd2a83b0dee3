/** The picture as the API accepts it: a base64 data URL whose type follows from the file name. */
export async function pictureDataUrl(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  const type = file.name.toLowerCase().endsWith('.svg') ? 'image/svg+xml' : 'image/png';
  return `data:${type};base64,${btoa(binary)}`;
}
