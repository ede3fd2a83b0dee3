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
    models: ['wan2.5-t2v-preview', 'wan2.6-i2v-flash', 'wan2.6-i2v', 'wan2.2-kf2v-flash'],
  },
  prices: {
    'wan2.5-t2v-preview': '(u("resolution") == "1080P" ? 0.15 : 0.1) * u("seconds")',
    'wan2.6-i2v-flash': '(u("audio") ? 0.08 : 0.04) * u("seconds")',
    'wan2.6-i2v': '0.1 * u("seconds")',
    'wan2.2-kf2v-flash': '0.02 * u("seconds")',
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
