import { usualCases } from './usual-cases.ts';
import { type Expected, mark, NO_QUOTA, type Scenario, type Vendor, videoBytes } from './vendor.ts';

const task = (name: string, output: Record<string, unknown>, more: Record<string, unknown> = {}) => ({
  request_id: 'r-1',
  output: { task_id: `job-${mark(name)}`, ...output },
  ...more,
});
const accepted = (name: string) => task(name, { task_status: 'PENDING' });
const done = (name: string, usage: Record<string, unknown> = { duration: 5, SR: '1080', video_count: 1 }) =>
  task(
    name,
    { task_status: 'SUCCEEDED', orig_prompt: mark(name), video_url: `{vendor}/oss/${mark(name)}.mp4?Signature=a%2Fb` },
    { usage },
  );

const expectJob = (json: unknown, service = 'video-generation'): Expected => ({
  method: 'POST',
  path: `/api/v1/services/aigc/${service}/video-synthesis`,
  headers: { 'x-dashscope-async': 'enable' },
  json,
});
const expectPoll = (name: string): Expected => ({ method: 'GET', path: `/api/v1/tasks/job-${mark(name)}` });
const content = (name: string): NonNullable<Scenario['content']> => [
  {
    expect: {
      method: 'GET',
      path: `/oss/${mark(name)}.mp4`,
      query: { Signature: 'a/b' },
      headers: { authorization: null },
    },
    answer: { bytes: videoBytes(name) },
  },
];
const artifacts = (name: string) => ({ video: videoBytes(name) });
const played = (name: string, answer = done(name)): Pick<Scenario, 'name' | 'poll' | 'content'> => ({
  name,
  poll: { expect: expectPoll(name), answers: [{ json: answer }] },
  content: content(name),
});

export const vendor: Vendor = {
  key: 'ali',
  channel: {
    key: 'wan-key',
    models: [
      ...['wan2.5-t2v-preview', 'wan2.6-i2v-flash', 'wan2.6-i2v', 'wan2.2-kf2v-flash'],
      ...['wan2.7-r2v', 'wan2.7-videoedit'],
    ],
  },
  prices: {
    'wan2.5-t2v-preview': '(u("resolution") == "1080P" ? 0.15 : 0.1) * u("seconds")',
    'wan2.6-i2v-flash': '(u("audio") ? 0.08 : 0.04) * u("seconds")',
    'wan2.6-i2v': '0.1 * u("seconds")',
    'wan2.2-kf2v-flash': '0.02 * u("seconds")',
    'wan2.7-r2v': '0.1 * u("seconds")',
    'wan2.7-videoedit': '0.1 * u("seconds")',
  },
  authorize: ({ headers }) =>
    headers.authorization === 'Bearer wan-key' ? undefined : `authorization is ${headers.authorization}`,
  scenarios: [
    ...usualCases({
      client: (name) => ({ model: 'wan2.5-t2v-preview', prompt: mark(name) }),
      submit: (name) =>
        expectJob({
          model: 'wan2.5-t2v-preview',
          input: { prompt: mark(name) },
          parameters: { size: '1920*1080', duration: 5 },
        }),
      accepted,
      poll: expectPoll,
      running: (name) => task(name, { task_status: 'RUNNING' }),
      done,
      failed: {
        json: (name) =>
          task(name, { task_status: 'FAILED', code: 'DataInspectionFailed', message: 'Output is inappropriate.' }),
        reason: 'Output is inappropriate. (DataInspectionFailed)',
      },
      unknown: (name) => task(name, { task_status: 'UNKNOWN' }),
      complaint: {
        json: { request_id: 'r-1', code: 'Arrearage', message: 'Access denied, overdue payment.' },
        message: NO_QUOTA,
        status: 503,
      },
      noJob: { json: { request_id: 'r-1', output: {} }, message: 'Alibaba Cloud answered without a task.' },
      unauthorized: { status: 401, json: { code: 'InvalidApiKey', message: 'Invalid API-key provided.' } },
      content,
      artifacts,
      bill: 0.15 * 5 * 500_000,
    }),
    {
      ...played('uploaded-frame', done('uploaded-frame', { output_video_duration: 7, duration: 7, SR: 720 })),
      client: {
        via: 'video',
        form: {
          model: 'wan2.6-i2v-flash',
          prompt: mark('uploaded-frame'),
          seconds: '8',
          size: '1280x720',
          audio: 'false',
          input_reference: new File([videoBytes('frame')], 'frame.png', { type: 'image/png' }),
        },
      },
      submit: {
        expect: expectJob({
          model: 'wan2.6-i2v-flash',
          input: {
            prompt: mark('uploaded-frame'),
            img_url: `data:image/png;base64,${Buffer.from(videoBytes('frame')).toString('base64')}`,
          },
          parameters: { resolution: '720P', duration: 8, audio: false },
        }),
        answers: [{ json: accepted('uploaded-frame') }],
      },
      // Eight seconds were requested, seven were produced.
      outcome: {
        artifacts: artifacts('uploaded-frame'),
        bill: 0.04 * 7 * 500_000,
        video: { status: 'completed', progress: 100, seconds: '7' },
      },
    },
    {
      ...played('two-frames', done('two-frames', { video_duration: 5, video_count: 1 })),
      client: {
        via: 'generic',
        json: {
          model: 'wan2.2-kf2v-flash',
          input: {
            prompt: mark('two-frames'),
            first_frame_url: 'https://example.com/a.png',
            last_frame_url: 'data:image/png;base64,AAAA',
          },
          parameters: { resolution: '480P', prompt_extend: true },
        },
      },
      submit: {
        expect: expectJob(
          {
            model: 'wan2.2-kf2v-flash',
            input: {
              prompt: mark('two-frames'),
              first_frame_url: 'https://example.com/a.png',
              last_frame_url: 'data:image/png;base64,AAAA',
            },
            parameters: { prompt_extend: true, resolution: '480P' },
          },
          'image2video',
        ),
        answers: [{ json: accepted('two-frames') }],
      },
      outcome: { artifacts: artifacts('two-frames'), bill: 0.02 * 5 * 500_000 },
    },
    // The vendor bills the four seconds that it was given beside the five that it made.
    {
      ...played(
        'references',
        done('references', { duration: 9, input_video_duration: 4, output_video_duration: 5, SR: 720 }),
      ),
      client: {
        via: 'video',
        json: {
          model: 'wan2.7-r2v',
          prompt: mark('references'),
          size: '720P',
          media: [
            { type: 'reference_video', url: 'https://example.com/dancer.mp4' },
            { type: 'reference_image', url: 'https://example.com/hall.png', reference_voice: 'oss://b/voice.mp3' },
          ],
        },
      },
      submit: {
        expect: expectJob({
          model: 'wan2.7-r2v',
          input: {
            prompt: mark('references'),
            media: [
              { type: 'reference_video', url: 'https://example.com/dancer.mp4' },
              { type: 'reference_image', url: 'https://example.com/hall.png', reference_voice: 'oss://b/voice.mp3' },
            ],
          },
          parameters: { resolution: '720P', ratio: '16:9', duration: 5 },
        }),
        answers: [{ json: accepted('references') }],
      },
      outcome: {
        artifacts: artifacts('references'),
        bill: 0.1 * 9 * 500_000,
        video: { status: 'completed', progress: 100, seconds: '5' },
      },
    },
    {
      ...played(
        'edited',
        done('edited', { duration: 12, input_video_duration: 6, output_video_duration: 6, SR: 1080 }),
      ),
      client: {
        via: 'generic',
        json: {
          model: 'wan2.7-videoedit',
          input: { prompt: mark('edited'), media: [{ type: 'video', url: 'https://example.com/walk.mp4' }] },
          parameters: { audio_setting: 'origin' },
        },
      },
      submit: {
        expect: expectJob({
          model: 'wan2.7-videoedit',
          input: { prompt: mark('edited'), media: [{ type: 'video', url: 'https://example.com/walk.mp4' }] },
          parameters: { audio_setting: 'origin', resolution: '1080P' },
        }),
        answers: [{ json: accepted('edited') }],
      },
      outcome: { artifacts: artifacts('edited'), bill: 0.1 * 12 * 500_000 },
    },
    {
      name: 'done-at-once',
      client: { via: 'generic', json: { model: 'wan2.5-t2v-preview', prompt: mark('done-at-once'), size: '720P' } },
      submit: {
        expect: expectJob({
          model: 'wan2.5-t2v-preview',
          input: { prompt: mark('done-at-once') },
          parameters: { size: '1280*720', duration: 5 },
        }),
        answers: [{ json: done('done-at-once', { duration: 5, SR: '720' }) }],
      },
      content: content('done-at-once'),
      outcome: { artifacts: artifacts('done-at-once'), bill: 0.1 * 5 * 500_000 },
    },
    {
      name: 'bad-input',
      client: { via: 'video', json: { model: 'wan2.6-i2v', prompt: mark('bad-input') } },
      outcome: { refused: { status: 400, message: 'The model wan2.6-i2v needs an image.' } },
    },
  ],
};
