import { expect, test } from 'bun:test';
import type { CallableModel } from '../../src/panel/api/types.ts';
import { chooseSample, surfaceFor } from '../../src/panel/pages/playground/choose-sample.ts';

type Change = {
  blocked?: CallableModel['blocked'];
  priced?: boolean;
  videos?: boolean;
  images?: boolean;
  required?: Record<string, object>;
};

function offer(model: string, { blocked = null, priced = true, videos, images, required = {} }: Change = {}) {
  return {
    plugin_key: 'p',
    model,
    surfaces: {
      generic: '/v1/tasks/p',
      proto_video: videos ? '/v1/videos' : null,
      images: images ? '/v1/images/generations' : null,
    },
    schema: { required: ['model', 'prompt', ...Object.keys(required)], properties: { prompt: {}, ...required } },
    examples: [],
    price: { priced },
    blocked,
  } as unknown as CallableModel;
}

const choose = (offers: CallableModel[], { succeeded = [] as string[], allowed = [] as string[] } = {}) =>
  chooseSample({
    offers,
    cards: succeeded.map((model) => ({ plugin_key: 'p', model, success_rate: 0.9 })),
    allowed,
    prompt: 'a boat',
  });

test('the first model by alphabet is passed over if it needs a file, is blocked or has no price', () => {
  const offers = [
    offer('act_two', { videos: true, required: { video: { 'x-input': 'video' } } }),
    offer('blocked', { videos: true, blocked: 'no_price' }),
    offer('free', { priced: false, videos: true }),
    offer('priced', { videos: true }),
  ];
  expect(choose(offers)).toMatchObject({
    path: '/v1/videos',
    follow: '/v1/videos/{task_id}',
    body: { model: 'priced' },
  });
  expect(choose(offers.slice(0, 2))).toBeNull();
});

test('a model that has succeeded comes first, then one that OpenAI’s libraries can call', () => {
  const offers = [offer('generic'), offer('flux', { images: true }), offer('speech', { images: true })];
  expect(choose(offers)).toEqual({
    ...{ path: '/v1/images/generations', follow: null, result: 'data' },
    body: { model: 'flux', prompt: 'a boat' },
  });
  expect(choose(offers, { succeeded: ['generic'] })).toMatchObject({ path: '/v1/tasks/p', body: { model: 'generic' } });
});

test('a key of some models gets a sample of one of them, with what the model requires', () => {
  const offers = [offer('first', { videos: true }), offer('mine', { required: { voice: { 'x-example': 'alloy' } } })];
  expect(choose(offers, { allowed: ['mine'] })?.body).toEqual({ model: 'mine', prompt: 'a boat', voice: 'alloy' });
  expect(choose(offers, { allowed: ['gone'] })).toBeNull();
});

test('a request is for OpenAI’s API where the model has it, and where its fields have the same names there', () => {
  const [film, other] = [offer('film', { videos: true }), offer('other')];
  expect(surfaceFor(film, { model: 'film', prompt: 'a boat', size: '1280x720' }).path).toBe('/v1/videos');
  expect(surfaceFor(film, { model: 'film', prompt: 'a boat', duration: 5 }).path).toBe('/v1/tasks/p');
  expect(surfaceFor(other, { model: 'other', prompt: 'a boat' }).path).toBe('/v1/tasks/p');
});
