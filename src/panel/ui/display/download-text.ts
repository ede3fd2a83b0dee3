/** Downloads a text as a file. */
export const downloadText = (name: string, text: string): void =>
  downloadBlob(name, new Blob([text], { type: 'text/plain' }));

/** Downloads bytes as a file. */
export function downloadBlob(name: string, blob: Blob): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The browser reads the URL asynchronously, so it is revoked later.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
