import { closeSync, constants, fstatSync, fsync, fsyncSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Logger } from '../../kernel/index.ts';

/** One note each, padded with spaces; a write that is torn costs one note. */
const SLOT_BYTES = 4096;
const SLOTS = 64;
const NOTES_FILE_BYTES = SLOT_BYTES * SLOTS;

/** Notes that can be written while the disk is full. */
export type PreallocatedNotes = {
  /** What an earlier process left: a text for each slot that has one. */
  read(): Map<number, string>;
  /** An empty text frees the slot. False: it could not be written, or does not fit. */
  write(slot: number, text: string): boolean;
  slots: number;
  close(): void;
};

/**
 * Opens a file whose bytes are taken from the disk now, so that writing them later needs no space
 * (a file system that copies on write may need a little all the same). Where the file cannot be
 * made, nothing is noted.
 */
export function openPreallocatedNotes(path: string, logger: Logger): PreallocatedNotes {
  const file = openFile(path, logger);
  const none = { read: () => new Map<number, string>(), write: () => false, slots: SLOTS, close() {} };
  if (file === undefined) return none;
  return {
    slots: SLOTS,
    read() {
      const bytes = Buffer.alloc(NOTES_FILE_BYTES);
      readSync(file, bytes, 0, NOTES_FILE_BYTES, 0);
      const notes = new Map<number, string>();
      for (let slot = 0; slot < SLOTS; slot += 1) {
        const text = bytes
          .toString('utf8', slot * SLOT_BYTES, (slot + 1) * SLOT_BYTES)
          .replaceAll('\0', '')
          .trim();
        if (text !== '') notes.set(slot, text);
      }
      return notes;
    },
    write(slot, text) {
      const bytes = Buffer.alloc(SLOT_BYTES, ' ');
      if (Buffer.byteLength(text) > SLOT_BYTES) return false;
      bytes.write(text);
      try {
        writeSync(file, bytes, 0, SLOT_BYTES, slot * SLOT_BYTES);
        fsyncSync(file);
        return true;
      } catch (error) {
        logger.error({ err: error, file: path }, 'a note could not be written');
        return false;
      }
    },
    close: () => closeSync(file),
  };
}

function openFile(path: string, logger: Logger): number | undefined {
  const warn = (error: Error): void =>
    logger.warn({ err: error, file: path }, 'no space is reserved for jobs of vendors that cannot be recorded');
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    const { size } = fstatSync(file);
    if (size < NOTES_FILE_BYTES) {
      writeSync(file, Buffer.alloc(NOTES_FILE_BYTES - size, ' '), 0, undefined, size);
      // Nobody waits for the disk: no job can be lost yet.
      fsync(file, (error) => error && warn(error));
    }
    return file;
  } catch (error) {
    warn(error as Error);
    return undefined;
  }
}
