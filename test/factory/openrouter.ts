import { usualCases } from './usual-cases.ts';
import { type Expected, mark, NO_QUOTA, type Scenario, type Vendor, videoBytes } from './vendor.ts';

const MODEL = 'openrouter/google/veo-3.1-fast';
const FRAMED = 'openrouter/bytedance/seedance-2.0';
const job = (name: string, more: Record<string, unknown>) => ({
  ...{ id: `job-${mark(name)}`, polling_url: `/api/v1/videos/job-${mark(name)}` },
  ...more,
});
const done = (name: string) =>
  job(name, {
    ...{ status: 'completed', usage: { cost: 1.2, is_byok: false } },
    unsigned_urls: [`{vendor}/api/v1/videos/job-${mark(name)}/content?index=0`],
  });
const expectJob = (json: unknown): Expected => ({ method: 'POST', path: '/v1/videos', json });
const expectPoll = (name: string): Expected => ({ method: 'GET', path: `/v1/videos/job-${mark(name)}` });
/** The vendor passes the file on to a client that has the key. */
const content = (name: string): NonNullable<Scenario['content']> => [
  {
    expect: {
      ...{ method: 'GET', path: `/v1/videos/job-${mark(name)}/content`, query: { index: '0' } },
      headers: { authorization: 'Bearer sk-or-v1-1' },
    },
    answer: { bytes: videoBytes(name) },
  },
];
const text = (name: string) => ({
  ...{ model: 'google/veo-3.1-fast', prompt: mark(name), duration: 8, resolution: '720p', generate_audio: true },
});

export const vendor: Vendor = {
  key: 'openrouter',
  channel: { key: 'sk-or-v1-1', models: [MODEL, FRAMED] },
  prices: { [MODEL]: 'u("cost")', [FRAMED]: '0.05 * u("seconds")' },
  authorize: ({ headers }) =>
    headers.authorization === 'Bearer sk-or-v1-1' ? undefined : `authorization is ${headers.authorization}`,
  scenarios: [
    ...usualCases({
      client: (name) => ({ model: MODEL, prompt: mark(name) }),
      submit: (name) => expectJob(text(name)),
      accepted: (name) => job(name, { status: 'pending' }),
      poll: expectPoll,
      running: (name) => job(name, { status: 'in_progress' }),
      done,
      failed: { json: (name) => job(name, { status: 'failed', error: 'Flagged.' }), reason: 'Flagged.' },
      unknown: (name) => job(name, { status: 'resting' }),
      complaint: { json: { error: { code: 400, message: 'Not now' } }, message: 'Not now' },
      noJob: { json: { id: '' }, message: 'OpenRouter answered without a job.' },
      unauthorized: { status: 401, json: { error: { code: 401, message: 'No auth credentials found' } } },
      content,
      artifacts: (name) => ({ video: videoBytes(name) }),
      // What the answer says, which is what was estimated.
      bill: 1.2 * 500_000,
    }),
    {
      name: 'uploaded-frame',
      client: {
        via: 'video',
        form: {
          ...{ model: FRAMED, prompt: mark('uploaded-frame'), seconds: '10', size: '720x1280' },
          ...{ input_reference: new File([videoBytes('frame')], 'a.png', { type: 'image/png' }) },
          metadata: '{"seed":7,"callback_url":"https://evil.example"}',
        },
      },
      submit: {
        expect: expectJob({
          ...{ seed: 7, model: 'bytedance/seedance-2.0', prompt: mark('uploaded-frame'), duration: 10 },
          ...{ resolution: '720p', aspect_ratio: '9:16', generate_audio: true },
          frame_images: [
            {
              ...{ type: 'image_url', frame_type: 'first_frame' },
              image_url: { url: `data:image/png;base64,${Buffer.from(videoBytes('frame')).toString('base64')}` },
            },
          ],
        }),
        answers: [{ status: 202, json: job('uploaded-frame', { status: 'pending' }) }],
      },
      poll: { expect: expectPoll('uploaded-frame'), answers: [{ json: done('uploaded-frame') }] },
      content: content('uploaded-frame'),
      outcome: {
        artifacts: { video: videoBytes('uploaded-frame') },
        bill: 0.05 * 10 * 500_000,
        video: { status: 'completed', progress: 100 },
      },
    },
    {
      name: 'no-credits',
      client: { via: 'generic', json: { model: MODEL, prompt: mark('no-credits') } },
      submit: {
        expect: expectJob(text('no-credits')),
        answers: [{ status: 402, json: { error: { code: 402, message: 'Insufficient credits' } } }],
      },
      outcome: { refused: { status: 503, message: NO_QUOTA }, jobs: 0 },
    },
  ],
};
