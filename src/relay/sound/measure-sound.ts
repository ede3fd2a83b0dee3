import type { ClientRequest } from '../../tasks/index.ts';
import { type ByteSource, createByteSource } from './byte-source.ts';
import { readMp4, readOgg, readWav, readWebm } from './read-containers.ts';
import { type Reading, scanFrames } from './walk-frames.ts';

/**
 * Bytes of a second of sound whose length is not known: 8 kbit/s, the lowest rate in use. Assuming
 * more would let long files of a low rate pass for short ones.
 */
const LEAST_BYTES_PER_SECOND = 1000;

/** Files may have this many bytes that belong to nothing, such as lost parts of frames. */
const UNREAD_BYTES = 8192;

type SoundFile = Extract<ClientRequest['body'], { kind: 'multipart' }>['files'][number];

/** The seconds of a file whose length is not read. */
export const mostSeconds = (files: readonly Pick<SoundFile, 'size'>[]): number =>
  Math.ceil(files.reduce((sum, { size }) => sum + size, 0) / LEAST_BYTES_PER_SECOND);

/**
 * The seconds of sound in the files, rounded up: by what is played where that can be read, and the
 * most that their other bytes may be.
 */
export async function measureSound(files: readonly SoundFile[]): Promise<number> {
  let seconds = 0;
  for (const file of files) {
    const source = createByteSource(file.stream());
    const measured = await measureFile(source, file.size).finally(source.close);
    const isUsable = measured !== undefined && measured.seconds > 0 && Number.isFinite(measured.seconds);
    seconds += isUsable
      ? measured.seconds + Math.max(0, measured.unread - UNREAD_BYTES) / LEAST_BYTES_PER_SECOND
      : mostSeconds([file]);
  }
  // A sum of many frames is off by a little.
  return Math.ceil(Math.round(seconds * 1000) / 1000);
}

async function measureFile(source: ByteSource, size: number): Promise<Reading | undefined> {
  await source.fill(12);
  const head = source.peek(12);
  const begins = (text: string, at = 0) => head.toString('latin1', at, at + text.length) === text;
  if (begins('RIFF') || begins('RF64')) return begins('WAVE', 8) ? readWav(source, size) : undefined;
  if (begins('OggS\0')) return readOgg(source, size);
  if (begins('\x1a\x45\xdf\xa3')) return readWebm(source, size);
  if (['ftyp', 'moov', 'mdat', 'wide', 'free', 'skip'].some((type) => begins(type, 4))) return readMp4(source);
  return scanFrames(source, size);
}
