import type { FileStore } from '../ports/index.ts';

const DIGEST = /^[0-9a-f]{64}$/;

/** Whether a name is that of a file: its SHA-256 in hex. */
export const isDigest = (name: string): boolean => DIGEST.test(name);

/**
 * Reads and removes nothing under any other name. Names come from rows, and those of a restored
 * database may be a path that leads out of the folder.
 */
export function guardFileNames(files: FileStore): FileStore {
  return {
    ...files,
    open: async (name, span) => (isDigest(name) ? files.open(name, span) : undefined),
    withDescriptor: async (name, limit, work) => (isDigest(name) ? files.withDescriptor(name, limit, work) : undefined),
    size: async (name) => (isDigest(name) ? files.size(name) : undefined),
    delete: async (name) => (isDigest(name) ? files.delete(name) : undefined),
    presign: (name, link) => (isDigest(name) ? files.presign(name, link) : undefined),
  };
}
