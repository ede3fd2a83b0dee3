import { createHash } from 'node:crypto';
import { err, ok, quoted } from '../../src/kernel/index.ts';
import type { FileStore } from '../../src/store/ports/index.ts';

/** Kept files that outlive the processes, as a folder or bucket does. */
export function createMemoryFiles(): FileStore & { readonly contents: ReadonlyMap<string, Uint8Array> } {
  const contents = new Map<string, Uint8Array>();
  return {
    contents,
    kind: 'folder',
    findFault: async () => undefined,
    async put(source, { maxBytes }) {
      const chunks: Uint8Array[] = [];
      let bytes = 0;
      for await (const chunk of source) {
        bytes += chunk.byteLength;
        if (bytes > maxBytes) return err({ kind: 'too_large' as const, ...quoted('too large') });
        chunks.push(chunk.slice());
      }
      const whole = Buffer.concat(chunks);
      const sha256 = createHash('sha256').update(whole).digest('hex');
      contents.set(sha256, whole);
      return ok({ sha256, bytes });
    },
    async open(sha256, span) {
      const whole = contents.get(sha256);
      if (!whole) return undefined;
      const bytes = (span ? whole.subarray(span.start, span.end) : whole).slice();
      // A Blob would be read in real time.
      return new ReadableStream({
        start(controller) {
          controller.enqueue(bytes);
          controller.close();
        },
      });
    },
    withDescriptor: async () => undefined,
    size: async (sha256) => contents.get(sha256)?.byteLength,
    delete: async (sha256) => void contents.delete(sha256),
    list: async (after, limit) =>
      [...contents]
        .filter(([sha256]) => sha256 > after)
        .sort()
        .slice(0, limit)
        .map(([sha256, { byteLength: bytes }]) => ({ sha256, changedAt: 0, bytes })),
    sweep: async () => 0,
    presign: () => undefined,
  };
}
