import { expect } from 'bun:test';
import { usualCases } from './usual-cases.ts';
import { type Expected, mark, NO_QUOTA, type Scenario, type Vendor, videoBytes } from './vendor.ts';

const MODEL = 'doubao-seedance-1-5-pro-251215';
const OLDER = 'doubao-seedance-1-0-pro-250528';
const NEWER = 'doubao-seedance-2-0-260128';
const PATH = '/api/v3/contents/generations/tasks';

const accepted = (name: string) => ({ id: `cgt-${mark(name)}` });
const task = (name: string, more: Record<string, unknown>) => ({
  id: `cgt-${mark(name)}`,
  model: MODEL,
  created_at: 1_790_000_000,
  updated_at: 1_790_000_060,
  ...more,
});
const done = (name: string, more: Record<string, unknown> = {}) =>
  task(name, {
    status: 'succeeded',
    content: { video_url: `{vendor}/tos/${mark(name)}.mp4?X-Tos-Expires=86400` },
    usage: { completion_tokens: 108_900, total_tokens: 108_900 },
    resolution: '720p',
    ratio: '16:9',
    duration: 5,
    framespersecond: 24,
    generate_audio: true,
    ...more,
  });

const expectJob = (json: unknown): Expected => ({ method: 'POST', path: PATH, json });
const expectPoll = (name: string): Expected => ({ method: 'GET', path: `${PATH}/cgt-${mark(name)}` });
const content = (name: string): NonNullable<Scenario['content']> => [
  {
    expect: {
      method: 'GET',
      path: `/tos/${mark(name)}.mp4`,
      query: { 'X-Tos-Expires': '86400' },
      headers: { authorization: null },
    },
    answer: { bytes: videoBytes(name) },
  },
  {
    expect: { method: 'GET', path: `/tos/${mark(name)}.png`, headers: { authorization: null } },
    answer: { bytes: videoBytes('last frame') },
  },
];
const artifacts = (name: string) => ({ video: videoBytes(name) });
const dataUrl = (name: string) => `data:image/png;base64,${Buffer.from(videoBytes(name)).toString('base64')}`;

export const vendor: Vendor = {
  key: 'doubao',
  channel: { key: 'ark-key', models: [MODEL, OLDER, NEWER] },
  prices: {
    [MODEL]: 'u("tokens") * (u("audio") ? 0.0000024 : 0.0000012) * (u("offline") ? 0.5 : 1)',
    [OLDER]: '0.1 * u("seconds")',
    [NEWER]: 'u("tokens") * (u("video_input") ? 0.000004 : 0.000006)',
  },
  authorize: ({ headers }) =>
    headers.authorization === 'Bearer ark-key' ? undefined : `authorization is ${headers.authorization}`,
  scenarios: [
    ...usualCases({
      client: (name) => ({ model: MODEL, prompt: mark(name) }),
      submit: (name) =>
        expectJob({
          model: MODEL,
          content: [{ type: 'text', text: mark(name) }],
          resolution: '720p',
          duration: 5,
          generate_audio: true,
        }),
      accepted,
      poll: expectPoll,
      running: (name) => task(name, { status: 'running' }),
      done,
      failed: {
        json: (name) =>
          task(name, {
            status: 'failed',
            error: { code: 'OutputVideoSensitiveContentDetected', message: 'The video is refused.' },
          }),
        reason: 'The video is refused. (OutputVideoSensitiveContentDetected)',
      },
      unknown: (name) => task(name, { status: 'resting' }),
      complaint: {
        json: { error: { code: 'AccountOverdueError', message: 'The account is overdue.', type: 'Forbidden' } },
        message: NO_QUOTA,
        status: 503,
      },
      noJob: { json: {}, message: 'Volcengine Ark answered without a task.' },
      unauthorized: { status: 401, json: { error: { code: 'AuthenticationError', message: 'bad key' } } },
      content,
      artifacts,
      bill: 108_900 * 0.0000024 * 500_000,
    }),
    {
      name: 'uploaded-frame',
      client: {
        via: 'video',
        form: {
          model: OLDER,
          prompt: mark('uploaded-frame'),
          seconds: '10',
          size: '1920x1080',
          return_last_frame: 'true',
          input_reference: new File([videoBytes('frame')], 'frame.png', { type: 'image/png' }),
        },
      },
      submit: {
        expect: expectJob({
          model: OLDER,
          content: [
            { type: 'text', text: mark('uploaded-frame') },
            { type: 'image_url', image_url: { url: dataUrl('frame') }, role: 'first_frame' },
          ],
          resolution: '1080p',
          ratio: '16:9',
          duration: 10,
          return_last_frame: true,
        }),
        answers: [{ json: accepted('uploaded-frame') }],
      },
      poll: {
        expect: expectPoll('uploaded-frame'),
        answers: [
          { json: task('uploaded-frame', { status: 'queued' }) },
          {
            json: done('uploaded-frame', {
              content: {
                video_url: `{vendor}/tos/${mark('uploaded-frame')}.mp4?X-Tos-Expires=86400`,
                last_frame_url: `{vendor}/tos/${mark('uploaded-frame')}.png`,
              },
              resolution: '1080p',
              duration: 10,
            }),
          },
        ],
      },
      content: content('uploaded-frame'),
      outcome: {
        artifacts: { ...artifacts('uploaded-frame'), last_frame: videoBytes('last frame') },
        bill: 0.1 * 10 * 500_000,
        video: { status: 'completed', progress: 100, seconds: '10' },
      },
    },
    {
      name: 'reference-video',
      client: {
        via: 'video',
        json: {
          model: NEWER,
          content: [
            { type: 'text', text: mark('reference-video') },
            { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' }, role: 'reference_video' },
            { type: 'image_url', image_url: { url: 'https://example.com/a.png' }, role: 'reference_image' },
          ],
          resolution: '480p',
          ratio: 'adaptive',
          duration: -1,
          generate_audio: false,
        },
      },
      submit: {
        expect: expectJob({
          model: NEWER,
          content: [
            { type: 'text', text: mark('reference-video') },
            { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' }, role: 'reference_video' },
            { type: 'image_url', image_url: { url: 'https://example.com/a.png' }, role: 'reference_image' },
          ],
          resolution: '480p',
          ratio: 'adaptive',
          duration: -1,
          generate_audio: false,
        }),
        answers: [{ json: accepted('reference-video') }],
      },
      // The longest video is reserved; what the vendor counts is billed.
      poll: {
        expect: expectPoll('reference-video'),
        answers: [{ json: done('reference-video', { usage: { completion_tokens: 50_000 }, resolution: '480p' }) }],
      },
      content: content('reference-video'),
      outcome: { artifacts: artifacts('reference-video'), bill: 50_000 * 0.000004 * 500_000 },
    },
    {
      name: 'draft',
      client: { via: 'video', json: { model: MODEL, prompt: mark('draft'), draft: true } },
      submit: {
        expect: expectJob({
          model: MODEL,
          content: [{ type: 'text', text: mark('draft') }],
          draft: true,
          resolution: '480p',
          duration: 5,
          generate_audio: true,
        }),
        answers: [{ json: accepted('draft') }],
      },
      poll: {
        expect: expectPoll('draft'),
        answers: [{ json: done('draft', { usage: { completion_tokens: 20_000 }, resolution: '480p' }) }],
      },
      content: content('draft'),
      outcome: { artifacts: artifacts('draft'), bill: 20_000 * 0.0000024 * 500_000 },
    },
    {
      // The vendor knows the draft under its own id, and takes length and sound from it.
      name: 'full-video-of-it',
      origin: 'draft',
      client: {
        via: 'native',
        submit: {
          path: '/doubao/api/v3/contents/generations/tasks',
          json: {
            model: MODEL,
            content: [
              { type: 'text', text: mark('full-video-of-it') },
              { type: 'draft_task', draft_task: { id: '{task:draft}' } },
            ],
            callback_url: 'https://evil.example',
          },
        },
        taskIdIn: ({ id }) => id,
        read: (id) => ({ path: `/doubao/api/v3/contents/generations/tasks/${id}` }),
        isEnded: ({ status }) => status === 'succeeded',
        answers: {
          submitted: { id: '{task}' },
          finished: expect.objectContaining({ id: '{task}', model: MODEL, status: 'succeeded' }),
        },
      },
      submit: {
        expect: expectJob({
          model: MODEL,
          content: [
            { type: 'text', text: mark('full-video-of-it') },
            { type: 'draft_task', draft_task: { id: `cgt-${mark('draft')}` } },
          ],
          resolution: '720p',
        }),
        answers: [{ json: accepted('full-video-of-it') }],
      },
      poll: { expect: expectPoll('full-video-of-it'), answers: [{ json: done('full-video-of-it') }] },
      content: content('full-video-of-it'),
      outcome: { artifacts: artifacts('full-video-of-it'), bill: 108_900 * 0.0000024 * 500_000 },
    },
    {
      name: 'expired',
      client: { via: 'generic', json: { model: MODEL, prompt: mark('expired'), service_tier: 'flex' } },
      submit: {
        expect: expectJob({
          model: MODEL,
          content: [{ type: 'text', text: mark('expired') }],
          service_tier: 'flex',
          execution_expires_after: 82_800,
          resolution: '720p',
          duration: 5,
          generate_audio: true,
        }),
        answers: [{ json: accepted('expired') }],
      },
      poll: { expect: expectPoll('expired'), answers: [{ json: task('expired', { status: 'expired' }) }] },
      outcome: { status: 'FAILURE', reason: 'The task has expired at Volcengine; please submit it again.' },
    },
    {
      name: 'bad-input',
      client: { via: 'generic', json: { model: OLDER, prompt: mark('bad-input'), duration: 20 } },
      outcome: {
        refused: { status: 400, message: `The length of a video of ${OLDER} is from 2 to 12 seconds.` },
      },
    },
  ],
};
