/** What the playground decides about a model before anything is sent. */
import { expect, test } from 'bun:test';
import type { CallableModel } from '../../src/panel/api/types.ts';
import { attachedBytes, chooseFileField } from '../../src/panel/pages/playground/attached-files.ts';
import { findMedium } from '../../src/panel/pages/playground/find-medium.ts';

type Properties = CallableModel['schema']['properties'];
type Facts = CallableModel['examples'][number]['facts'];
type Offer = Parameters<typeof findMedium>[0];

function offerOf(model: string, properties: Properties = {}, of: { video?: boolean; facts?: Facts } = {}): Offer {
  return {
    model,
    schema: { type: 'object', required: [], properties },
    surfaces: { proto_video: of.video ? {} : null } as Offer['surfaces'],
    examples: of.facts === undefined ? [] : [{ label: 'Example', facts: of.facts }],
  };
}

test('a dropped file goes to the first empty input of its kind, an image else to `image`', () => {
  const performance = offerOf(
    'act_two',
    { character: { type: 'string', 'x-input': 'image' }, reference: { type: 'string', 'x-input': 'video' } },
    { video: true },
  );
  const choose = (type: string, ...taken: string[]) => chooseFileField(performance, type, new Set(taken));
  expect(choose('image/png')).toBe('character');
  expect(choose('video/mp4')).toBe('reference');
  expect(choose('image/png', 'character')).toBe('image');
  expect(choose('image/png', 'character', 'image')).toBe('image_2');
  expect(choose('video/mp4', 'reference')).toBeNull();
  expect(choose('audio/mpeg')).toBeNull();
});

test('the files of a request count together, but for the one that another file replaces', () => {
  const draft = {
    body: { prompt: 'a kite', image: 'a.png', image_2: 'b.png' },
    files: {
      'a.png': { type: 'image/png', dataUrl: 'x'.repeat(400) },
      'gone.png': { type: 'image/png', dataUrl: 'x'.repeat(4000) },
    },
    reading: { image_2: new File(['12345'], 'b.png') },
  };
  expect(attachedBytes(draft)).toBe(305);
  expect(attachedBytes(draft, 'image')).toBe(5);
});

test('a model of music takes no image, and a text file as its lyrics, but not as the name of a voice', () => {
  const song = offerOf('music-2.5', {
    voice_id: { type: 'string', 'x-input': 'text', 'x-example': 'abc' },
    lyrics: { type: 'string', 'x-input': 'text' },
  });
  expect(chooseFileField(song, 'image/png', new Set())).toBeNull();
  expect(chooseFileField(song, 'text/plain', new Set())).toBe('lyrics');
  expect(chooseFileField(song, 'text/plain', new Set(['lyrics']))).toBeNull();
});

test('samples fit what a model makes: by its protocol, its name, and what its plugin bills', () => {
  expect(findMedium(offerOf('music-video', {}, { video: true }))).toBe('video');
  expect(['music_v1', 'suno_music', 'suno_lyrics'].map((name) => findMedium(offerOf(name)))).toEqual([
    'music',
    'music',
    'lyrics',
  ]);
  expect(['eleven_v3', 'eleven_text_to_sound_v2', 'gpt-4o-mini-tts'].map((name) => findMedium(offerOf(name)))).toEqual([
    'speech',
    'sound',
    'speech',
  ]);
  expect(findMedium(offerOf('gen4_image', {}, { facts: { seconds: 5, images: 0 } }))).toBe('image');
  expect(findMedium(offerOf('our-singer', {}, { facts: { songs: 1, seconds: 180 } }))).toBe('music');
  expect(findMedium(offerOf('our-reader', {}, { facts: { characters: 80, seconds: 0 } }))).toBe('speech');
  expect(findMedium(offerOf('our-painter', {}, { facts: { images: 1 } }))).toBe('image');
  expect(findMedium(offerOf('anything'))).toBe('video');
});
