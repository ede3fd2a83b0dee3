import { MAX_PREVIEW_SIDE } from '../../tasks/index.ts';

type MediaType = 'video' | 'audio';

/** The first bytes of a file tell its container; the program never guesses another one. */
const CONTAINERS: readonly { at: number; bytes: string; name: string }[] = [
  { at: 4, bytes: 'ftyp', name: 'mov' },
  { at: 0, bytes: '\x1a\x45\xdf\xa3', name: 'matroska' },
  { at: 8, bytes: 'WAVE', name: 'wav' },
  { at: 0, bytes: 'OggS', name: 'ogg' },
  { at: 0, bytes: 'fLaC', name: 'flac' },
  { at: 0, bytes: 'ID3', name: 'mp3' },
  { at: 0, bytes: '\xff\xfb', name: 'mp3' },
  { at: 0, bytes: '\xff\xf3', name: 'mp3' },
];
export const CONTAINER_BYTES = 12;

/** What generators of videos and sounds write. Every other decoder stays shut. */
const CODECS = [
  ...['h264', 'hevc', 'av1', 'libdav1d', 'libaom-av1', 'vp8', 'vp9', 'libvpx', 'libvpx-vp9', 'mpeg4'],
  ...['aac', 'mp3', 'mp3float', 'opus', 'libopus', 'vorbis', 'libvorbis', 'flac'],
  ...['pcm_u8', 'pcm_s16le', 'pcm_s24le', 'pcm_s32le', 'pcm_f32le'],
].join(',');

/** The most usual of a video's first frames is shown: not the black of a fade. */
const FRAMES = 40;
const SOUND_SECONDS = 600;
/** As browsers draw it. */
const WAVE = { size: `${MAX_PREVIEW_SIDE}x128`, colour: '0x2f8f6b' };

/** The name of a container, by the beginning of its file; undefined: it is not known. */
export function findContainer(head: Uint8Array): string | undefined {
  const text = Buffer.from(head).toString('latin1');
  return CONTAINERS.find(({ at, bytes }) => text.startsWith(bytes, at))?.name;
}

/** `quality`: 2 is the best of a JPEG, 31 the smallest. */
export type Drawing = { type: MediaType; container: string; quality: number };

/** Draws one still of the file that is open as standard input. */
export function ffmpegArguments({ type, container, quality }: Drawing): string[] {
  // A container that names other files finds none.
  const input = ['-protocol_whitelist', 'file', '-format_whitelist', container, '-codec_whitelist', CODECS];
  // By its path, since a pipe cannot be read from its end, where many videos have their index.
  const opened = ['-f', container, '-threads', '1', ...input, '-i', 'file:/proc/self/fd/0'];
  const side = MAX_PREVIEW_SIDE;
  const still = `scale='min(${side},iw)':'min(${side},ih)':force_original_aspect_ratio=decrease,thumbnail=${FRAMES}`;
  const wave = `[0:a:0]aformat=channel_layouts=mono,showwavespic=s=${WAVE.size}:colors=${WAVE.colour}:scale=sqrt`;
  return [
    ...['-nostdin', '-hide_banner', '-loglevel', 'error', '-filter_threads', '1', '-filter_complex_threads', '1'],
    ...(type === 'audio' ? ['-t', String(SOUND_SECONDS)] : []),
    ...opened,
    ...(type === 'video'
      ? ['-map', '0:v:0', '-vf', still, '-c:v', 'mjpeg', '-pix_fmt', 'yuvj420p', '-q:v', String(quality)]
      : ['-filter_complex', wave, '-c:v', 'png']),
    ...['-threads', '1', '-frames:v', '1', '-an', '-sn', '-dn', '-map_metadata', '-1', '-f', 'image2pipe', 'pipe:1'],
  ];
}
