import { usualCases } from './usual-cases.ts';
import { type Expected, mark, NO_QUOTA, type Scenario, type Vendor, videoBytes } from './vendor.ts';

const MODEL = 'grok-imagine-video';
const done = (name: string, ticks: number, duration = 8) => ({
  ...{ status: 'done', model: MODEL, usage: { cost_in_usd_ticks: ticks } },
  video: { url: `{vendor}/cdn/${mark(name)}.mp4`, duration, respect_moderation: true },
});
const expectJob = (path: string, json: unknown): Expected => ({ method: 'POST', path: `/v1/videos/${path}`, json });
const expectPoll = (name: string): Expected => ({ method: 'GET', path: `/v1/videos/job-${mark(name)}` });
const content = (name: string): NonNullable<Scenario['content']> => [
  {
    expect: { method: 'GET', path: `/cdn/${mark(name)}.mp4`, headers: { authorization: null } },
    answer: { bytes: videoBytes(name) },
  },
];
const text = (name: string) => ({ model: MODEL, prompt: mark(name), duration: 8, resolution: '480p' });

export const vendor: Vendor = {
  key: 'xai',
  channel: { key: 'xai-1', models: [MODEL, 'grok-imagine-video-1.5'] },
  prices: { [MODEL]: '0.05 * u("seconds")', 'grok-imagine-video-1.5': '1.1 * u("cost")' },
  authorize: ({ headers }) =>
    headers.authorization === 'Bearer xai-1' ? undefined : `authorization is ${headers.authorization}`,
  scenarios: [
    ...usualCases({
      client: (name) => ({ model: MODEL, prompt: mark(name) }),
      submit: (name) => expectJob('generations', text(name)),
      accepted: (name) => ({ request_id: `job-${mark(name)}` }),
      poll: expectPoll,
      running: () => ({ status: 'pending', progress: 40 }),
      done: (name) => done(name, 4_000_000_000),
      failed: { json: () => ({ status: 'failed', error: { message: 'Blocked.' } }), reason: 'Blocked.' },
      unknown: () => ({ status: 'resting' }),
      complaint: { json: { code: 'odd', error: 'Not now' }, message: 'Not now' },
      noJob: { json: { request_id: '' }, message: 'xAI answered without a request.' },
      // The vendor answers a wrong key with 400.
      unauthorized: { status: 400, json: { code: 'invalid', error: 'Incorrect API key provided: xa***1.' } },
      content,
      artifacts: (name) => ({ video: videoBytes(name) }),
      bill: 0.05 * 8 * 500_000,
    }),
    {
      name: 'uploaded-frame',
      client: {
        via: 'video',
        form: {
          ...{ model: 'grok-imagine-video-1.5', prompt: mark('uploaded-frame'), seconds: '10', size: '1080x1920' },
          ...{ input_reference: new File([videoBytes('frame')], 'a.png', { type: 'image/png' }) },
          metadata: '{"generate_audio":false,"storage_options":{"name":"x"}}',
        },
      },
      submit: {
        expect: expectJob('generations', {
          ...{ generate_audio: false, model: 'grok-imagine-video-1.5', prompt: mark('uploaded-frame'), duration: 10 },
          ...{ resolution: '1080p', aspect_ratio: '9:16' },
          image: { url: `data:image/png;base64,${Buffer.from(videoBytes('frame')).toString('base64')}` },
        }),
        answers: [{ json: { request_id: `job-${mark('uploaded-frame')}` } }],
      },
      poll: { expect: expectPoll('uploaded-frame'), answers: [{ json: done('uploaded-frame', 24_000_000_000, 10) }] },
      content: content('uploaded-frame'),
      outcome: {
        artifacts: { video: videoBytes('uploaded-frame') },
        // What xAI charged, in place of the estimate.
        bill: 1.1 * 2.4 * 500_000,
        video: { status: 'completed', progress: 100 },
      },
    },
    {
      name: 'changed',
      client: { via: 'generic', json: { model: MODEL, prompt: mark('changed'), video: 'https://example.com/a.mp4' } },
      submit: {
        expect: expectJob('edits', {
          ...{ model: MODEL, prompt: mark('changed'), video: { url: 'https://example.com/a.mp4' } },
        }),
        answers: [{ json: { request_id: `job-${mark('changed')}` } }],
      },
      poll: { expect: expectPoll('changed'), answers: [{ json: done('changed', 3_000_000_000, 6) }] },
      content: content('changed'),
      // The length of the given video, in place of the longest.
      outcome: { artifacts: { video: videoBytes('changed') }, bill: 0.05 * 6 * 500_000 },
    },
    {
      name: 'no-credits',
      client: { via: 'generic', json: { model: MODEL, prompt: mark('no-credits') } },
      submit: {
        expect: expectJob('generations', text('no-credits')),
        answers: [{ status: 403, json: { error: 'Your team has used all available credits.' } }],
      },
      outcome: { refused: { status: 503, message: NO_QUOTA }, jobs: 0 },
    },
  ],
};
