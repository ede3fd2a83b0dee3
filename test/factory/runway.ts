import { usualCases } from './usual-cases.ts';
import { type Expected, mark, type Scenario, type Vendor, videoBytes } from './vendor.ts';

const VERSION = '2024-11-06';
const FRAME = 'https://example.com/a.png';
const task = (name: string, more: Record<string, unknown>) => ({
  ...{ id: `job-${mark(name)}`, createdAt: '2026-09-21T14:13:20.000Z' },
  ...more,
});
const done = (name: string, ending = 'mp4') =>
  task(name, { status: 'SUCCEEDED', output: [`{vendor}/cdn/${mark(name)}.${ending}`] });
const expectJob = (endpoint: string, json: unknown): Expected => ({ method: 'POST', path: `/v1/${endpoint}`, json });
const expectPoll = (name: string): Expected => ({ method: 'GET', path: `/v1/tasks/job-${mark(name)}` });
const content = (name: string, ending = 'mp4'): NonNullable<Scenario['content']> => [
  {
    expect: { method: 'GET', path: `/cdn/${mark(name)}.${ending}`, headers: { authorization: null } },
    answer: { bytes: videoBytes(name) },
  },
];

export const vendor: Vendor = {
  key: 'runway',
  channel: { key: 'key_1', models: ['gen4_turbo', 'gen4_image'] },
  prices: { gen4_turbo: '0.05 * u("seconds")', gen4_image: 'u("resolution") == "1080p" ? 0.08 : 0.05' },
  authorize: ({ headers }) =>
    headers.authorization === 'Bearer key_1' && headers['x-runway-version'] === VERSION
      ? undefined
      : `authorization is ${headers.authorization}, version ${headers['x-runway-version']}`,
  scenarios: [
    ...usualCases({
      client: (name) => ({ model: 'gen4_turbo', prompt: mark(name), image: FRAME }),
      submit: (name) =>
        expectJob('image_to_video', {
          ...{ model: 'gen4_turbo', promptText: mark(name), promptImage: FRAME },
          ...{ ratio: '1280:720', duration: 5 },
        }),
      accepted: (name) => ({ id: `job-${mark(name)}` }),
      poll: expectPoll,
      running: (name) => task(name, { status: 'RUNNING', progress: 0.4 }),
      done,
      failed: {
        json: (name) => task(name, { status: 'FAILED', failure: 'Flagged.', failureCode: 'SAFETY.INPUT.TEXT' }),
        reason: 'Flagged. (SAFETY.INPUT.TEXT)',
      },
      unknown: (name) => task(name, { status: 'RESTING' }),
      complaint: { json: { error: 'Not enough credits.' }, message: 'Not enough credits.' },
      noJob: { json: { id: '' }, message: 'Runway answered without a task.' },
      unauthorized: { status: 401, json: { error: 'Invalid key' } },
      content,
      artifacts: (name) => ({ video: videoBytes(name) }),
      bill: 0.05 * 5 * 500_000,
    }),
    {
      name: 'uploaded-frame',
      client: {
        via: 'video',
        form: {
          ...{ model: 'gen4_turbo', prompt: mark('uploaded-frame'), seconds: '8', size: '720x1280' },
          ...{ input_reference: new File([videoBytes('frame')], 'a.png', { type: 'image/png' }) },
          metadata: '{"seed":7,"newer":true,"callback_url":"https://evil.example"}',
        },
      },
      submit: {
        expect: expectJob('image_to_video', {
          ...{ model: 'gen4_turbo', promptText: mark('uploaded-frame'), ratio: '720:1280', duration: 8 },
          promptImage: `data:image/png;base64,${Buffer.from(videoBytes('frame')).toString('base64')}`,
          ...{ seed: 7, newer: true },
        }),
        answers: [{ json: { id: `job-${mark('uploaded-frame')}` } }],
      },
      poll: { expect: expectPoll('uploaded-frame'), answers: [{ json: done('uploaded-frame') }] },
      content: content('uploaded-frame'),
      outcome: {
        artifacts: { video: videoBytes('uploaded-frame') },
        bill: 0.05 * 8 * 500_000,
        video: { status: 'completed', progress: 100 },
      },
    },
    {
      name: 'image',
      client: { via: 'generic', json: { model: 'gen4_image', prompt: mark('image'), size: '1280x720' } },
      submit: {
        expect: expectJob('text_to_image', { model: 'gen4_image', promptText: mark('image'), ratio: '1280:720' }),
        answers: [{ json: { id: `job-${mark('image')}` } }],
      },
      poll: { expect: expectPoll('image'), answers: [{ json: done('image', 'png') }] },
      content: content('image', 'png'),
      outcome: { artifacts: { image: videoBytes('image') }, bill: 0.05 * 500_000 },
    },
  ],
};
