import { countCharacters, isObject, type Json, parseJson } from '../../kernel/index.ts';

/** Nobody speaks more in a second for long: fast speech has some 20. */
const MOST_CHARACTERS_PER_SECOND = 30;
/** A longer answer is not read; it would be the text of half a day. */
const MAX_READ_BYTES = 1024 * 1024;
/** The end of a subtitle: `00:01:02,500 --> 00:01:04,000`, in WebVTT also without hours. */
const ENDS = /^[\d:.,]{9,16} --> (?:(\d{1,3}):)?(\d\d):(\d\d)[.,](\d{3})/;

/**
 * The least seconds that a recording must have for its transcription: by its latest time, and by
 * how fast people speak. The length that a file states may be what its sender wrote there.
 */
export function estimateSpokenSeconds(answer: Uint8Array): number {
  if (answer.byteLength > MAX_READ_BYTES) return 0;
  const text = new TextDecoder().decode(answer);
  const value = parseJson(text);
  if (!isObject(value)) return estimate(text.split('\n').map(readLine));
  const { text: said = null, segments = null } = value as Record<string, Json>;
  const parts = Array.isArray(segments) ? segments : [];
  const ends = parts.map((part) => ({ characters: 0, end: isObject(part) ? Number(part.end ?? 0) : 0 }));
  return estimate([{ characters: typeof said === 'string' ? countCharacters(said) : 0, end: 0 }, ...ends]);
}

type Spoken = { characters: number; end: number };

function readLine(line: string): Spoken {
  const time = ENDS.exec(line);
  if (!time) return { characters: countCharacters(line), end: 0 };
  const [hours, minutes, seconds, thousandths] = time.slice(1).map((part) => Number(part ?? 0));
  return {
    characters: 0,
    end: (hours ?? 0) * 3600 + (minutes ?? 0) * 60 + (seconds ?? 0) + (thousandths ?? 0) / 1000,
  };
}

function estimate(parts: readonly Spoken[]): number {
  const characters = parts.reduce((sum, part) => sum + part.characters, 0);
  const end = parts.reduce((latest, part) => (part.end > latest ? part.end : latest), 0);
  return Math.ceil(Math.max(end, characters / MOST_CHARACTERS_PER_SECOND));
}
