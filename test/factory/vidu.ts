import { expect } from 'bun:test';
import { usualCases } from './usual-cases.ts';
import { type Expected, mark, NO_QUOTA, type Vendor, videoBytes } from './vendor.ts';

const job = (name: string, more: Record<string, unknown> = {}) => ({
  task_id: `job-${mark(name)}`,
  state: 'created',
  model: 'viduq3-turbo',
  prompt: mark(name),
  credits: 10,
  created_at: '2026-10-01T00:00:00Z',
  ...more,
});
const state = (name: string, more: Record<string, unknown>) => ({
  id: `job-${mark(name)}`,
  err_code: '',
  credits: 10,
  creations: [],
  ...more,
});
const done = (name: string) =>
  state(name, {
    state: 'success',
    creations: [
      { id: 'c-1', url: `{vendor}/cdn/${mark(name)}.mp4?sign=a`, cover_url: `{vendor}/cdn/${mark(name)}.png` },
    ],
  });
const expectJob = (path: string, json: Record<string, unknown>): Expected => ({
  method: 'POST',
  path: `/ent/v2/${path}`,
  json,
});
const expectPoll = (name: string): Expected => ({ method: 'GET', path: `/ent/v2/tasks/job-${mark(name)}/creations` });
const content = (name: string) => [
  {
    expect: {
      method: 'GET',
      path: `/cdn/${mark(name)}.mp4`,
      query: { sign: 'a' },
      headers: { authorization: null },
    },
    answer: { bytes: videoBytes(name) },
  },
  {
    expect: { method: 'GET', path: `/cdn/${mark(name)}.png`, headers: { authorization: null } },
    answer: { bytes: videoBytes('cover') },
  },
];
const artifacts = (name: string) => ({ video: videoBytes(name), cover: videoBytes('cover') });
const image = (name: string) => new File([videoBytes(name)], `${name}.png`, { type: 'image/png' });
const dataUrl = (name: string) => `data:image/png;base64,${Buffer.from(videoBytes(name)).toString('base64')}`;

export const vendor: Vendor = {
  key: 'vidu',
  channel: { key: 'vidu-key', models: ['viduq3-turbo', 'viduq2', 'vidu2.0'] },
  prices: {
    'viduq3-turbo': '(u("resolution") == "1080p" ? 0.08 : 0.04) * u("seconds") * (u("audio") ? 1.5 : 1)',
    viduq2: '0.02 * u("seconds")',
    'vidu2.0': '0.01 * u("seconds")',
  },
  authorize: ({ headers }) =>
    headers.authorization === 'Token vidu-key' ? undefined : `authorization is ${headers.authorization}`,
  scenarios: [
    ...usualCases({
      client: (name) => ({ model: 'viduq3-turbo', prompt: mark(name) }),
      submit: (name) =>
        expectJob('text2video', {
          model: 'viduq3-turbo',
          prompt: mark(name),
          duration: 5,
          resolution: '720p',
          audio: true,
        }),
      accepted: (name) => job(name),
      poll: expectPoll,
      running: (name) => state(name, { state: 'processing' }),
      done,
      failed: {
        json: (name) => state(name, { state: 'failed', err_code: 'AuditSubmitIllegal' }),
        reason: 'AuditSubmitIllegal',
      },
      unknown: (name) => state(name, { state: 'resting' }),
      complaint: {
        json: { code: 400, reason: 'CreditInsufficient', message: 'credits are not enough', metadata: {} },
        message: NO_QUOTA,
        status: 503,
      },
      noJob: { json: { state: 'created' }, message: 'The answer holds no task.' },
      unauthorized: { status: 401, json: { code: 401, reason: 'Unauthorized', message: 'bad token' } },
      content,
      artifacts,
      bill: 0.04 * 5 * 1.5 * 500_000,
    }),
    {
      name: 'uploaded-frame',
      client: {
        via: 'video',
        form: {
          model: 'viduq3-turbo',
          prompt: mark('uploaded-frame'),
          seconds: '8',
          size: '1080x1920',
          audio: 'false',
          input_reference: image('frame'),
        },
      },
      submit: {
        expect: expectJob('img2video', {
          model: 'viduq3-turbo',
          prompt: mark('uploaded-frame'),
          duration: 8,
          resolution: '1080p',
          audio: false,
          images: [dataUrl('frame')],
        }),
        answers: [{ json: job('uploaded-frame') }],
      },
      poll: { expect: expectPoll('uploaded-frame'), answers: [{ json: done('uploaded-frame') }] },
      content: content('uploaded-frame'),
      outcome: {
        artifacts: artifacts('uploaded-frame'),
        bill: 0.08 * 8 * 500_000,
        video: { status: 'completed', progress: 100 },
      },
    },
    {
      name: 'references',
      client: {
        via: 'video',
        json: {
          model: 'viduq2',
          prompt: mark('references'),
          reference_images: ['https://example.com/a.png', dataUrl('b')],
        },
      },
      submit: {
        expect: expectJob('reference2video', {
          model: 'viduq2',
          prompt: mark('references'),
          duration: 5,
          resolution: '720p',
          images: ['https://example.com/a.png', dataUrl('b')],
        }),
        answers: [{ json: job('references') }],
      },
      poll: { expect: expectPoll('references'), answers: [{ json: done('references') }] },
      content: content('references'),
      outcome: { artifacts: artifacts('references'), bill: 0.02 * 5 * 500_000 },
    },
    {
      name: 'two-frames',
      client: {
        via: 'generic',
        json: {
          model: 'vidu2.0',
          prompt: mark('two-frames'),
          images: ['https://example.com/a.png', 'https://example.com/b.png'],
        },
      },
      submit: {
        expect: expectJob('start-end2video', {
          model: 'vidu2.0',
          prompt: mark('two-frames'),
          duration: 4,
          resolution: '360p',
          images: ['https://example.com/a.png', 'https://example.com/b.png'],
        }),
        answers: [{ json: job('two-frames') }],
      },
      poll: { expect: expectPoll('two-frames'), answers: [{ json: done('two-frames') }] },
      content: content('two-frames'),
      outcome: { artifacts: artifacts('two-frames'), bill: 0.01 * 4 * 500_000 },
    },
    {
      name: 'native',
      client: {
        via: 'native',
        submit: { path: '/vidu/ent/v2/text2video', json: { model: 'viduq3-turbo', prompt: mark('native') } },
        taskIdIn: ({ task_id }) => task_id,
        read: (id) => ({ path: `/vidu/ent/v2/tasks/${id}/creations` }),
        isEnded: ({ state }) => state === 'success',
        answers: {
          submitted: { ...job('native'), task_id: '{task}' },
          finished: {
            id: '{task}',
            state: 'success',
            err_code: '',
            credits: 10,
            creations: [
              {
                id: 'c-1',
                url: expect.stringContaining(`/cdn/${mark('native')}.mp4?sign=a`),
                cover_url: expect.stringContaining(`/cdn/${mark('native')}.png`),
              },
            ],
          },
        },
      },
      submit: {
        expect: expectJob('text2video', {
          model: 'viduq3-turbo',
          prompt: mark('native'),
          duration: 5,
          resolution: '720p',
          audio: true,
        }),
        answers: [{ json: job('native') }],
      },
      poll: { expect: expectPoll('native'), answers: [{ json: done('native') }] },
      content: content('native'),
      outcome: { artifacts: artifacts('native'), bill: 0.04 * 5 * 1.5 * 500_000 },
    },
    {
      name: 'bad-input',
      client: { via: 'generic', json: { model: 'viduq2', prompt: mark('bad-input'), off_peak: true } },
      outcome: {
        refused: { status: 400, message: 'off_peak is not offered here: such jobs may end after two days.' },
      },
    },
  ],
};
