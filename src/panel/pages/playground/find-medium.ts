import type { CallableModel } from '../../api/types.ts';

export type Medium = 'video' | 'image' | 'music' | 'speech' | 'sound' | 'lyrics';

type Offer = Pick<CallableModel, 'model' | 'schema' | 'surfaces' | 'examples'>;

/** Facts that plugins bill of one medium only. */
const facts: Readonly<Record<string, Medium>> = {
  images: 'image',
  songs: 'music',
  clips: 'music',
  characters: 'speech',
};

/** Vendors' own words for what a model makes, in its name. */
const words: readonly (readonly [RegExp, Medium])[] = [
  [/lyric/, 'lyrics'],
  [/sound|sfx|foley/, 'sound'],
  [/music|song|suno|lyria/, 'music'],
  [/tts|speech|voice|eleven/, 'speech'],
  [/image|flux|photo/, 'image'],
  [/video|veo|sora|kling|t2v|i2v/, 'video'],
  [/audio/, 'sound'],
];

/**
 * What a model makes. No manifest says so of each model: one that videos are requested of makes
 * them; else its name says, else the facts that its plugin bills.
 */
export function findMedium({ model, surfaces, examples }: Offer): Medium {
  if (surfaces.proto_video !== null) return 'video';
  const billed = examples.flatMap(({ facts: billedFacts }) =>
    Object.entries(billedFacts).flatMap(([name, value]) => (Number(value) > 0 ? name : [])),
  );
  return guessMedium(model, billed);
}

/** Guesses it from a model's name and the names of the facts that it bills. */
export function guessMedium(model: string, billed: readonly string[]): Medium {
  const named = words.find(([word]) => word.test(model.toLowerCase()))?.[1];
  return named ?? billed.flatMap((name) => facts[name] ?? [])[0] ?? 'video';
}
