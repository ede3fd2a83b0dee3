/** What the playground decides about a model before anything is sent. */
import { expect, test } from 'bun:test';
import type { CallableModel } from '../../src/panel/api/types.ts';
import { attachedBytes, chooseFileField } from '../../src/panel/pages/playground/attached-files.ts';
import { findMedium } from '../../src/panel/pages/playground/find-medium.ts';
import { usualModel } from '../../src/panel/pages/playground/model-select.tsx';
import { withShortFiles } from '../../src/panel/pages/tasks/read-task.ts';
import { isUsed, mergePoints, projectMonth, stackSpend } from '../../src/panel/pages/usage/stack-spend.ts';

type Properties = CallableModel['schema']['properties'];
type Facts = CallableModel['examples'][number]['facts'];
type Offer = Parameters<typeof findMedium>[0];

function offerFor(model: string, properties: Properties = {}, of: { video?: boolean; facts?: Facts } = {}): Offer {
  return {
    model,
    schema: { type: 'object', required: [], properties },
    surfaces: { proto_video: of.video ? {} : null } as Offer['surfaces'],
    examples: of.facts === undefined ? [] : [{ label: 'Example', facts: of.facts }],
  };
}

test('a dropped file goes to the first empty input of its kind, an image else to `image`', () => {
  const performance = offerFor(
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
  const song = offerFor('music-2.5', {
    voice_id: { type: 'string', 'x-input': 'text', 'x-example': 'abc' },
    lyrics: { type: 'string', 'x-input': 'text' },
  });
  expect(chooseFileField(song, 'image/png', new Set())).toBeNull();
  expect(chooseFileField(song, 'text/plain', new Set())).toBe('lyrics');
  expect(chooseFileField(song, 'text/plain', new Set(['lyrics']))).toBeNull();
});

test('samples fit what a model makes: by its protocol, its name, and what its plugin bills', () => {
  expect(findMedium(offerFor('music-video', {}, { video: true }))).toBe('video');
  expect(['music_v1', 'suno_music', 'suno_lyrics'].map((name) => findMedium(offerFor(name)))).toEqual([
    'music',
    'music',
    'lyrics',
  ]);
  expect(['eleven_v3', 'eleven_text_to_sound_v2', 'gpt-4o-mini-tts'].map((name) => findMedium(offerFor(name)))).toEqual(
    ['speech', 'sound', 'speech'],
  );
  expect(['grok-imagine-image', 'grok-imagine-video', 'fal/audio'].map((name) => findMedium(offerFor(name)))).toEqual([
    'image',
    'video',
    'sound',
  ]);
  expect(findMedium(offerFor('gen4_image', {}, { facts: { seconds: 5, images: 0 } }))).toBe('image');
  expect(findMedium(offerFor('our-singer', {}, { facts: { songs: 1, seconds: 180 } }))).toBe('music');
  expect(findMedium(offerFor('our-reader', {}, { facts: { characters: 80, seconds: 0 } }))).toBe('speech');
  expect(findMedium(offerFor('our-painter', {}, { facts: { images: 1 } }))).toBe('image');
  expect(findMedium(offerFor('anything'))).toBe('video');
});

test('the playground begins with the model used last, else with the one that succeeds most often', () => {
  const offer = (model: string, blocked: CallableModel['blocked'] = null) =>
    ({ plugin_key: 'demo', model, blocked }) as CallableModel;
  const offers = [offer('slow'), offer('good'), offer('unpriced', 'no_price')];
  const used = (model: string) => ({ model, platform: 'demo' });
  const card = (model: string, success_rate: number | null) => ({ plugin_key: 'demo', model, success_rate });
  const cards = [card('slow', 0.5), card('good', 0.9), card('unpriced', 1)];
  const begin = (latest: ReturnType<typeof used>[], known = cards) => usualModel(offers, { latest, cards: known });
  expect(begin([used('gone'), used('unpriced'), used('slow'), used('good')])).toEqual({
    model: 'slow',
    plugin: 'demo',
  });
  expect(begin([])).toEqual({ model: 'good', plugin: 'demo' });
  expect(begin([], [card('slow', null), card('good', 0)])).toBeNull();
});

test('spend is stacked by the first shares and the rest, and the forecast of a month follows its beginning', () => {
  const point = (spend: number) => ({ at: 0, succeeded: 0, failed: 0, spend });
  const share = (model: string, spends?: number[]) => ({
    ...{ id: 0, name: null, plugin_key: 'demo', model, succeeded: 0, failed: 0 },
    spend: (spends ?? [7]).reduce((sum, spend) => sum + spend, 0),
    ...(spends === undefined ? {} : { points: spends.map(point) }),
  });
  const report = {
    points: [point(10), point(20)],
    shares: [share('a', [6, 10]), share('b', [4, 3]), share('c')],
    totals: { succeeded: 0, failed: 0, spend: 30, success_rate: null },
  };
  const parts = stackSpend(report, { toName: ({ model }) => model, others: 'Others' });
  expect(parts.map(({ name, total, points }) => [name, total, points])).toEqual([
    ['a', 16, [6, 10]],
    ['b', 7, [4, 3]],
    ['Others', 7, [0, 7]],
  ]);
  const day = 86_400;
  expect(projectMonth({ from: 0, until: 30 * day, spend: 100 }, 10 * day)).toEqual({ total: 300, daily: 10 });
  for (const now of [day / 2, 30 * day]) {
    expect(projectMonth({ from: 0, until: 30 * day, spend: 100 }, now)).toBeNull();
  }
});

test('days are added up by week backwards, so that the last week is whole', () => {
  const days = Array.from({ length: 9 }, (_, at) => ({ at, succeeded: 1, failed: at === 8 ? 1 : 0, spend: 2 }));
  expect(mergePoints(days, 7)).toEqual([
    { at: 0, succeeded: 2, failed: 0, spend: 4 },
    { at: 2, succeeded: 7, failed: 1, spend: 14 },
  ]);
  expect(days[0]?.spend).toBe(2);
});

test('a day on which charges were only given back is listed', () => {
  const idle = { succeeded: 0, failed: 0, spend: 0 };
  const days = [idle, { ...idle, spend: -5 }, { ...idle, failed: 1, spend: -5 }, { ...idle, succeeded: 1 }];
  expect(days.map(isUsed)).toEqual([false, true, true, true]);
});

test('the quote of a stored request sends none of its files', () => {
  const file = `data:image/png;base64,${'iVBORw0K'.repeat(1000)}`;
  const body = { prompt: 'data:image is a scheme', image: file, frames: [{ url: file }, 'https://a.example/b.png'] };
  const short = 'data:image/png;base64,AAAA';
  expect(withShortFiles(body)).toEqual({
    ...body,
    image: short,
    frames: [{ url: short }, 'https://a.example/b.png'],
  });
});
