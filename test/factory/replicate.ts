import { usualCases } from './usual-cases.ts';
import { type Expected, mark, NO_QUOTA, type Scenario, type Vendor, videoBytes } from './vendor.ts';

const TEXT = 'kwaivgi/kling-v2.5-turbo-pro';
const IMAGES = 'black-forest-labs/flux-schnell';
const VERSION = '5c7d5dc6dd8bf75c1acaa8565735e7986bc5b66206b55cca93cb72c9bf15ccaa';

const prediction = (name: string, more: Record<string, unknown>) => ({
  ...{ id: `job-${mark(name)}`, version: 'hidden', created_at: '2026-09-21T14:13:20.000Z', error: null, logs: '' },
  ...{ input: {}, output: null, urls: { get: `{vendor}/v1/predictions/job-${mark(name)}` } },
  ...more,
});
const done = (name: string, output: unknown = `{vendor}/cdn/${mark(name)}.mp4`) =>
  prediction(name, { status: 'succeeded', output, metrics: { predict_time: 12.5, total_time: 14 } });
const expectJob = (model: string, input: unknown): Expected => ({
  method: 'POST',
  path: `/v1/models/${model}/predictions`,
  json: { input },
});
const expectPoll = (name: string): Expected => ({ method: 'GET', path: `/v1/predictions/job-${mark(name)}` });
const content = (name: string, ending = 'mp4'): NonNullable<Scenario['content']> => [
  {
    expect: { method: 'GET', path: `/cdn/${mark(name)}.${ending}`, headers: { authorization: null } },
    answer: { bytes: videoBytes(name) },
  },
];

export const vendor: Vendor = {
  key: 'replicate',
  channel: {
    key: 'r8_1',
    models: [TEXT, IMAGES, 'my-replicate-video'],
    model_mapping: { 'my-replicate-video': 'replicate/video' },
    settings: { models: { 'my-replicate-video': `lightricks/ltx-video:${VERSION}` } },
  },
  prices: {
    [TEXT]: '0.07 * u("seconds")',
    [IMAGES]: '0.003 * u("images")',
    'my-replicate-video': '0.001 * u("compute_seconds")',
  },
  authorize: ({ headers }) =>
    headers.authorization === 'Bearer r8_1' ? undefined : `authorization is ${headers.authorization}`,
  scenarios: [
    ...usualCases({
      client: (name) => ({ model: TEXT, prompt: mark(name) }),
      submit: (name) => expectJob(TEXT, { prompt: mark(name), duration: 5 }),
      accepted: (name) => prediction(name, { status: 'starting' }),
      poll: expectPoll,
      running: (name) => prediction(name, { status: 'processing' }),
      done: (name) => done(name),
      failed: {
        json: (name) => prediction(name, { status: 'failed', error: 'NSFW content detected.' }),
        reason: 'NSFW content detected.',
      },
      unknown: (name) => prediction(name, { status: 'resting' }),
      complaint: { json: { detail: 'Not now' }, message: 'Not now' },
      noJob: { json: { id: '' }, message: 'Replicate answered without a prediction.' },
      unauthorized: { status: 401, json: { title: 'Unauthenticated', detail: 'No valid token', status: 401 } },
      content,
      artifacts: (name) => ({ video: videoBytes(name) }),
      bill: 0.07 * 5 * 500_000,
    }),
    {
      name: 'uploaded-frame',
      client: {
        via: 'video',
        form: {
          ...{ model: TEXT, prompt: mark('uploaded-frame'), seconds: '10', size: '720x1280' },
          ...{ input_reference: new File([videoBytes('frame')], 'a.png', { type: 'image/png' }) },
          metadata: '{"guidance_scale":0.4,"webhook":"https://evil.example"}',
        },
      },
      submit: {
        expect: expectJob(TEXT, {
          ...{ guidance_scale: 0.4, prompt: mark('uploaded-frame'), duration: 10, aspect_ratio: '9:16' },
          start_image: `data:image/png;base64,${Buffer.from(videoBytes('frame')).toString('base64')}`,
        }),
        answers: [{ status: 201, json: prediction('uploaded-frame', { status: 'starting' }) }],
      },
      poll: { expect: expectPoll('uploaded-frame'), answers: [{ json: done('uploaded-frame') }] },
      content: content('uploaded-frame'),
      outcome: {
        artifacts: { video: videoBytes('uploaded-frame') },
        bill: 0.07 * 10 * 500_000,
        video: { status: 'completed', progress: 100 },
      },
    },
    {
      // Billed by the time on the hardware, in place of the five minutes that were reserved.
      name: 'own-choice',
      client: { via: 'video', json: { model: 'my-replicate-video', prompt: mark('own-choice'), size: '1280x720' } },
      submit: {
        expect: {
          ...{ method: 'POST', path: '/v1/predictions' },
          json: { version: VERSION, input: { prompt: mark('own-choice'), aspect_ratio: '16:9' } },
        },
        answers: [{ status: 201, json: prediction('own-choice', { status: 'starting' }) }],
      },
      poll: { expect: expectPoll('own-choice'), answers: [{ json: done('own-choice') }] },
      content: content('own-choice'),
      outcome: { artifacts: { video: videoBytes('own-choice') }, bill: 0.001 * 12.5 * 500_000 },
    },
    {
      name: 'images',
      client: { via: 'generic', json: { model: IMAGES, prompt: mark('images'), n: 2 } },
      submit: {
        expect: expectJob(IMAGES, { prompt: mark('images'), num_outputs: 2 }),
        answers: [{ status: 201, json: prediction('images', { status: 'starting' }) }],
      },
      poll: {
        expect: expectPoll('images'),
        answers: [{ json: done('images', [`{vendor}/cdn/${mark('images')}.webp`]) }],
      },
      content: content('images', 'webp'),
      // One of the two was withheld.
      outcome: { artifacts: { image: videoBytes('images') }, bill: 0.003 * 500_000 },
    },
    {
      name: 'no-credit',
      client: { via: 'generic', json: { model: TEXT, prompt: mark('no-credit') } },
      submit: {
        expect: expectJob(TEXT, { prompt: mark('no-credit'), duration: 5 }),
        answers: [{ status: 402, json: { title: 'Insufficient credit', detail: 'Insufficient credit', status: 402 } }],
      },
      outcome: { refused: { status: 503, message: NO_QUOTA }, jobs: 0 },
    },
  ],
};
