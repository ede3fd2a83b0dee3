import type { ClientRequest } from '../../tasks/index.ts';
import { type ByteSource, createByteSource } from './byte-source.ts';
import { readMp4, readOgg, readWav, readWebm } from './read-containers.ts';
import { readAdtsFrame, readFlacFrame, readMpegFrame, skipTags, walkFrames } from './walk-frames.ts';

/**
 * Bytes of a second of sound whose length is not known: 8 kbit/s, the lowest rate in use. Assuming
 * more would let long files of a low rate pass for short ones.
 */
const LEAST_BYTES_PER_SECOND = 1000;

type SoundFile = Extract<ClientRequest['body'], { kind: 'multipart' }>['files'][number];

/** The seconds of a file whose length is not read. */
export const mostSeconds = (files: readonly Pick<SoundFile, 'size'>[]): number =>
  Math.ceil(files.reduce((sum, { size }) => sum + size, 0) / LEAST_BYTES_PER_SECOND);

/**
 * The seconds of sound in the files, rounded up: by what is played where that can be read, else the
 * most that their bytes may be.
 */
export async function measureSound(files: readonly SoundFile[]): Promise<number> {
  let seconds = 0;
  for (const file of files) {
    const source = createByteSource(file.stream());
    const measured = await measureFile(source, file.size).finally(source.close);
    const isUsable = measured !== undefined && measured > 0 && Number.isFinite(measured);
    seconds += isUsable ? measured : mostSeconds([file]);
  }
  // A sum of many frames is off by a little.
  return Math.ceil(Math.round(seconds * 1000) / 1000);
}

async function measureFile(source: ByteSource, size: number): Promise<number | undefined> {
  await source.fill(12);
  const head = source.peek(12);
  const begins = (text: string, at = 0) => head.toString('latin1', at, at + text.length) === text;
  if (begins('RIFF') || begins('RF64')) return begins('WAVE', 8) ? readWav(source, size) : undefined;
  if (begins('OggS')) return readOgg(source, size);
  if (begins('\x1a\x45\xdf\xa3')) return readWebm(source);
  if (['ftyp', 'moov', 'mdat', 'wide', 'free', 'skip'].some((type) => begins(type, 4))) return readMp4(source);
  await skipTags(source);
  await source.fill(12);
  const first = source.peek(12);
  if (first.toString('latin1', 0, 4) === 'fLaC') return walkFrames(source, readFlacFrame);
  const read = [readAdtsFrame, readMpegFrame].find((frame) => frame(first));
  return read && walkFrames(source, read);
}
