import { describe, expect, test } from 'bun:test';
import { parsePriceExpression } from '../../src/billing/parse-price.ts';
import type { AppError, Json, JsonObject } from '../../src/kernel/index.ts';
import {
  checkMembers,
  largestLimit,
  normalizeMemberName,
  readChoices,
  readQuantities,
  refuseUncounted,
} from '../../src/relay/bodies/request-members.ts';
import type { RelayKind } from '../../src/store/ports/index.ts';

const NO_LIMIT = 4096;

test('a name is read as vendors may read it', () => {
  const names = ['model', 'Model', ' model', 'ｍodel', 'model\0', `model\0${'x'.repeat(100)}`, 'Model\0x'];
  for (const name of names) expect(normalizeMemberName(name)).toBe('model');
  expect(normalizeMemberName('models')).toBe('models');
});

describe('the limit of an answer', () => {
  const OWN: Readonly<Record<RelayKind, readonly string[]>> = {
    chat: ['max_tokens', 'max_completion_tokens'],
    response: ['max_output_tokens'],
    ...{ embedding: [], image: [], image_edit: [], speech: [], transcription: [], video: [] },
  };
  const NAMES = ['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'max_new_tokens'];
  const kinds = Object.entries(OWN) as [RelayKind, readonly string[]][];

  for (const [kind, own] of kinds)
    test(`free thoughts: no name that a vendor of this API ignores lowers it: ${kind}`, () => {
      for (const name of NAMES) {
        const limit = (values: JsonObject) => largestLimit({ kind, values }, NO_LIMIT);
        expect([name, limit({ [name]: 1 })]).toEqual([name, own.includes(name) ? 1 : NO_LIMIT]);
        expect([name, limit({ [name]: 9000 })]).toEqual([name, 9000]);
        for (const first of own) expect(limit({ [first]: 50, [name]: 70 })).toBe(70);
      }
    });
});

describe('the quantities of a video', () => {
  const quantities = (values: JsonObject) => readQuantities({ kind: 'video', values });

  const LENGTHS = [
    ...['duration', 'duration_seconds', 'n_seconds', 'num_seconds', 'Duration', 'durationSeconds', 'video_duration'],
    ...['DURATION_SEC', 'duration[]', 'ｄuration'],
  ];
  for (const name of LENGTHS)
    test(`a long video for the price of a short one: the largest length counts under any name: ${name}`, () => {
      for (const length of [12, '12', '12s'])
        expect(quantities({ seconds: 1, [name]: length })).toEqual({ seconds: 12 });
      expect(quantities({ seconds: '20', [name]: 12 })).toEqual({ seconds: 20 });
      expect(quantities({ [name]: 12 })).toEqual({ seconds: 12 });
      expect(quantities({ seconds: 4, [name]: null })).toEqual({ seconds: 4 });
      // A price by seconds refuses these, and no other price does.
      for (const other of ['12 s', 'auto', '0x12', '1e2', -1, 0, 1e12, true, [12], { seconds: 12 }, ''])
        expect(quantities({ seconds: 1, [name]: other })).toEqual({ seconds: null });
    });

  test('a long video for the price of a short one: lengths and counts in objects of their own count', () => {
    for (const inner of ['parameters', 'metadata', 'extra_body', 'video'])
      expect(quantities({ seconds: 1, [inner]: { a: [{ durationSeconds: 12, sampleCount: '3' }] } })).toEqual({
        seconds: 12,
        n: 3,
      });
    expect(quantities({ seconds: '1', 'parameters[duration]': '12', 'parameters[n]': '2' })).toEqual({
      seconds: 12,
      n: 2,
    });
    expect(quantities({ seconds: 2, metadata: { n: 'none', title: 'n', sample_count: 0 } })).toEqual({ seconds: 2 });
    expect(readQuantities({ kind: 'image', values: { n: 1, metadata: { n: 5 } } })).toEqual({ n: 1 });
  });

  test('denial of service: a deep request is read in a small multiple of the time of a flat one', () => {
    const members = Array.from({ length: 9000 }, () => ({ a: 1, b: 2 }));
    const measure = (value: Json): number => {
      const runs = [1, 2, 3].map(() => {
        const began = performance.now();
        expect(quantities({ seconds: 4, value })).toEqual({ seconds: 4 });
        return performance.now() - began;
      });
      return Math.min(...runs);
    };
    const deep = Array.from({ length: 240 }).reduce<Json>((inner) => [inner], members);
    expect(measure(deep)).toBeLessThan(5 * measure(members) + 5);
  });

  test('many videos for the price of one: the largest count under any name', () => {
    for (const name of ['batch_size', 'num_videos', 'num_outputs', 'sample_count', 'best_of'])
      expect(quantities({ n: 1, [name]: 4 })).toEqual({ n: 4 });
    expect(quantities({ n: '2' })).toEqual({ n: 2 });
    expect(quantities({ batch_size: 1 })).toEqual({});
    for (const name of ['batch_size', 'num_images', 'num_outputs', 'sample_count'])
      for (const kind of ['image', 'image_edit'] as const)
        expect(readQuantities({ kind, values: { n: '1', [name]: '4' } })).toEqual({ n: 4 });
    expect(readQuantities({ kind: 'image', values: { n: 1, num_images: 3, duration: 9 } })).toEqual({ n: 3 });
  });
});

describe('the size, quality and resolution of a picture', () => {
  const PICTURES = ['image', 'image_edit', 'video'] as const;
  const factKeys = ['seconds', 'size', 'quality', 'resolution'];
  const choices = (values: JsonObject, kind: RelayKind = 'image', videos: JsonObject[] = []) =>
    readChoices({ kind, values }, { factKeys, videos });
  const plain = { size: 'default', quality: 'default', resolution: 'default' };

  test('only those that the price reads are facts, and only of images and videos', () => {
    for (const kind of PICTURES) {
      expect(choices({}, kind)).toEqual(plain);
      expect(choices({ size: '1K', quality: 'hd', resolution: '720p' }, kind)).toEqual({
        ...{ size: '1k', quality: 'hd', resolution: '720p' },
      });
      expect(readChoices({ kind, values: { size: '1k', quality: 'hd' } }, { factKeys: ['size'], videos: [] })).toEqual({
        size: '1k',
      });
    }
    for (const kind of ['chat', 'response', 'embedding', 'speech', 'transcription'] as const)
      expect(choices({ size: '1024x1024' }, kind)).toEqual({});
  });

  const SIZES = [
    'size',
    'Size',
    'SIZE',
    'image_size',
    'imageSize',
    'video_size',
    'size[]',
    'ｓize',
    'parameters[size]',
  ];
  for (const name of SIZES)
    test(`a large picture for the price of a small one: any name of it counts, in any case: ${name}`, () => {
      for (const kind of PICTURES) {
        expect(choices({ [name]: '1792X1024' }, kind)).toEqual({ ...plain, size: '1792x1024' });
        expect(choices({ parameters: [{ [name]: '1792x1024' }] }, kind)).toEqual({ ...plain, size: '1792x1024' });
        expect(choices({ n: 1, [name]: null }, kind)).toEqual(plain);
      }
    });

  test('a large picture for the price of a small one: what vendors could read differently is unknown', () => {
    const unclear: JsonObject[] = [
      { size: '256x256', image_size: '1024x1024' },
      { size: '256x256', parameters: { size: '1024x1024' } },
      { size: '256x256', width: 2048, height: 2048 },
      ...[['256x256', '1024x1024'], { width: 1 }, 1024, true, '', ' 256x256', '256x256\0', 'x'.repeat(41)].map(
        (size): JsonObject => ({ size }),
      ),
    ];
    for (const values of unclear)
      for (const kind of PICTURES) expect([values, choices(values, kind).size]).toEqual([values, 'unknown']);
    expect(choices({ size: '256x256', Size: '256X256', metadata: { size: '256x256' } }).size).toBe('256x256');
    expect(choices({ quality: 'low', Quality: 'HIGH' }).quality).toBe('unknown');
    expect(choices({ resolution: '480p', output_resolution: '1080p' }, 'video').resolution).toBe('unknown');
  });

  test('a large video for the price of a small one: what is built on a video has its size', () => {
    const built = (values: JsonObject, ...videos: JsonObject[]) => choices(values, 'video', videos).size as Json;
    expect(built({}, { size: '1792x1024' })).toBe('1792x1024');
    expect(built({ size: '1792x1024' }, { size: '1792x1024' })).toBe('1792x1024');
    expect(built({}, { size: 'default' })).toBe('default');
    for (const size of ['1792x1024', 'unknown', null]) expect(built({ size: '1280x720' }, { size })).toBe('unknown');
    expect(built({ size: '1280x720' }, {})).toBe('unknown');
    expect(built({}, { size: '1280x720' }, { size: '1792x1024' })).toBe('unknown');
  });
});

test('the examples of prices by size and quality cost what the vendor charges', async () => {
  const text = await Bun.file('docs/operating/prices.md').text();
  const examples = text.slice(text.indexOf('### By size and quality')).matchAll(/```js\n([^`]+)```/g);
  const [dalle, , image, sora] = [...examples].map(([, source = '']) => parsePriceExpression(source));
  const rows: [price: typeof dalle, kind: RelayKind, values: JsonObject, usd: number][] = [
    [dalle, 'image', {}, 0.04],
    [dalle, 'image', { size: '1792x1024', quality: 'standard' }, 0.08],
    [dalle, 'image', { size: '1024x1024', quality: 'hd' }, 0.08],
    [dalle, 'image', { size: '1024x1792', quality: 'HD' }, 0.12],
    [image, 'image', { size: '1024x1024', quality: 'low' }, 0.011],
    [image, 'image_edit', { size: '1536x1024', quality: 'medium' }, 0.063],
    [image, 'image', { size: '1024x1024', quality: 'auto' }, 0.167],
    [image, 'image', {}, 0.2505],
    [sora, 'video', {}, 0.3],
    [sora, 'video', { size: '1792x1024' }, 0.5],
    [sora, 'video', { size: '1920x1080' }, 0.7],
  ];
  for (const [price, kind, values, usd] of rows) {
    if (!price?.ok) throw new Error('the example does not parse');
    const { factKeys } = price.value;
    const facts = { images: 1, seconds: 1, ...readChoices({ kind, values }, { factKeys, videos: [] }) };
    const result = price.value.evaluate({ facts, model: 'm', action: kind });
    expect([values, result.ok && Number(result.value.usd.toFixed(6))]).toEqual([values, usd]);
  }
});

describe('what the price does not read', () => {
  const refused = (work: () => void): string | undefined => {
    try {
      work();
    } catch (error) {
      return (error as AppError).param;
    }
    return undefined;
  };
  const findRefused = (kind: RelayKind, values: JsonObject, factKeys: string[] = ['output_tokens']) =>
    refused(() => refuseUncounted({ kind, values }, factKeys));

  test('many results for the price of one: refused where the price is by request', () => {
    expect(findRefused('chat', { n: 128 }, [])).toBe('n');
    expect(findRefused('chat', { n: 1, best_of: 1 }, [])).toBeUndefined();
    expect(findRefused('image', { num_images: 4 }, [])).toBe('num_images');
    expect(findRefused('image', { n: 4 }, ['input_tokens'])).toBe('n');
    for (const fact of ['n', 'images', 'output_tokens']) expect(findRefused('image', { n: 4 }, [fact])).toBeUndefined();
    expect(findRefused('video', { parameters: { sampleCount: 4 } }, ['seconds'])).toBe('n');
  });

  test('a series of images for the price of one: refused where the price does not count images', () => {
    const auto = { n: 1, sequential_image_generation: 'auto' };
    const bounded = { ...auto, sequential_image_generation_options: { max_images: '9' } };
    for (const kind of ['image', 'image_edit'] as const) {
      for (const facts of [[], ['n'], ['input_tokens']]) {
        expect(findRefused(kind, auto, facts)).toBe('sequential_image_generation');
        expect(findRefused(kind, bounded, facts)).toBe('sequential_image_generation');
        expect(findRefused(kind, { max_images: 2 }, facts)).toBe('max_images');
      }
      for (const fact of ['images', 'output_tokens']) expect(findRefused(kind, bounded, [fact])).toBeUndefined();
      const single: JsonObject[] = [
        { sequential_image_generation: 'disabled' },
        { max_images: 1 },
        { ...auto, sequential_image_generation_options: { max_images: 1 } },
      ];
      for (const values of single) expect(findRefused(kind, values, [])).toBeUndefined();
    }
    expect(findRefused('chat', { max_images: 9 }, [])).toBeUndefined();
  });

  test('a large container for the price of a small one: refused, since no price reads its size', () => {
    const tool = (memory: Json) => ({ type: 'code_interpreter', container: { type: 'auto', memory_limit: memory } });
    const shell = { type: 'shell', environment: { type: 'container_auto', memory_limit: '64g' } };
    for (const tools of [[tool('64g')], [{ type: 'web_search' }, tool('4g')], [shell]])
      expect(findRefused('response', { tools }, ['output_tokens', 'tool_calls'])).toBe('tools');
    for (const tools of [null, [], [tool(null)], [tool('1g')], [{ type: 'code_interpreter', container: 'cntr_1' }]])
      expect(findRefused('response', { tools }, ['output_tokens'])).toBeUndefined();
  });

  test('a dear model for the price of a cheap one: further models are refused', () => {
    for (const name of ['models', 'fallbacks', 'fallback_models']) {
      expect(findRefused('chat', { model: 'cheap', [name]: ['cheap', 'dear'] })).toBe(name);
      expect(findRefused('chat', { model: 'cheap', [name]: [{ model: 'dear' }] })).toBe(name);
      for (const value of [null, [], ['cheap'], 'cheap'])
        expect(findRefused('chat', { model: 'cheap', [name]: value })).toBeUndefined();
    }
    expect(refused(() => checkMembers({ kind: 'chat', values: { Models: ['dear'] }, isForm: false }))).toBe('Models');
  });

  test('a faster answer for the price of a slow one: tiers that cost more are refused', () => {
    for (const tier of ['priority', 'PRIORITY', 'performance', 'scale', 5, ['priority']]) {
      expect(findRefused('chat', { service_tier: tier })).toBe('service_tier');
      expect(findRefused('response', { service_tier: tier }, ['service_tier'])).toBeUndefined();
    }
    for (const tier of [null, 'auto', 'default', 'flex'])
      expect(findRefused('chat', { service_tier: tier })).toBeUndefined();
    expect(refused(() => checkMembers({ kind: 'chat', values: { serviceTier: 'priority' }, isForm: false }))).toBe(
      'serviceTier',
    );
  });
});
