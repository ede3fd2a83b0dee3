import { usualCases } from './usual-cases.ts';
import { type Expected, mark, NO_QUOTA, type Scenario, type Vendor, videoBytes } from './vendor.ts';

const fine = { status_code: 0, status_msg: 'success' };
const accepted = (name: string) => ({ task_id: `job-${mark(name)}`, base_resp: fine });
const task = (name: string, more: Record<string, unknown>) => ({
  task_id: `job-${mark(name)}`,
  file_id: '',
  base_resp: fine,
  ...more,
});
const done = (name: string) =>
  task(name, { status: 'Success', file_id: `file-${mark(name)}`, video_width: 1366, video_height: 768 });

const expectJob = (json: unknown): Expected => ({ method: 'POST', path: '/v1/video_generation', json });
const expectPoll = (name: string): Expected => ({
  method: 'GET',
  path: '/v1/query/video_generation',
  query: { task_id: `job-${mark(name)}` },
});
/**
 * The finished file has an id alone; its address is asked for, with the key, and fetched without.
 */
const content = (name: string): NonNullable<Scenario['content']> => [
  {
    expect: {
      method: 'GET',
      path: '/v1/files/retrieve',
      query: { file_id: `file-${mark(name)}` },
      headers: { authorization: 'Bearer hailuo-key' },
    },
    answer: {
      json: {
        file: { file_id: 205, bytes: 9, purpose: 'video_generation', download_url: `{vendor}/cdn/${mark(name)}.mp4` },
        base_resp: fine,
      },
    },
  },
  {
    expect: { method: 'GET', path: `/cdn/${mark(name)}.mp4`, headers: { authorization: null } },
    answer: { bytes: videoBytes(name) },
  },
];
const artifacts = (name: string) => ({ video: videoBytes(name) });
const image = (name: string) => new File([videoBytes(name)], `${name}.png`, { type: 'image/png' });
const dataUrl = (name: string) => `data:image/png;base64,${Buffer.from(videoBytes(name)).toString('base64')}`;
const played = (name: string): Pick<Scenario, 'name' | 'poll' | 'content'> => ({
  name,
  poll: { expect: expectPoll(name), answers: [{ json: task(name, { status: 'Queueing' }) }, { json: done(name) }] },
  content: content(name),
});

export const vendor: Vendor = {
  key: 'hailuo',
  channel: { key: 'hailuo-key', models: ['MiniMax-Hailuo-2.3', 'MiniMax-Hailuo-02', 'S2V-01'] },
  prices: {
    'MiniMax-Hailuo-2.3': '(u("resolution") == "1080P" ? 0.08 : 0.045) * u("seconds")',
    'MiniMax-Hailuo-02': '0.05 * u("seconds")',
    'S2V-01': '0.65',
  },
  authorize: ({ headers }) =>
    headers.authorization === 'Bearer hailuo-key' ? undefined : `authorization is ${headers.authorization}`,
  scenarios: [
    ...usualCases({
      client: (name) => ({ model: 'MiniMax-Hailuo-2.3', prompt: mark(name) }),
      submit: (name) => expectJob({ model: 'MiniMax-Hailuo-2.3', prompt: mark(name), duration: 6, resolution: '768P' }),
      accepted,
      poll: expectPoll,
      running: (name) => task(name, { status: 'Processing' }),
      done,
      failed: {
        json: (name) =>
          task(name, { status: 'Fail', base_resp: { status_code: 1027, status_msg: 'output new_sensitive' } }),
        reason: 'output new_sensitive (1027)',
      },
      unknown: (name) => task(name, { status: 'Resting' }),
      complaint: {
        json: { base_resp: { status_code: 1008, status_msg: 'insufficient balance' } },
        message: NO_QUOTA,
        status: 503,
      },
      noJob: { json: { task_id: '', base_resp: fine }, message: 'MiniMax answered without a task.' },
      unauthorized: { status: 401, json: { base_resp: { status_code: 1004, status_msg: 'login fail' } } },
      content,
      artifacts,
      bill: 0.045 * 6 * 500_000,
    }),
    {
      ...played('uploaded-frames'),
      client: {
        via: 'video',
        form: {
          model: 'MiniMax-Hailuo-02',
          prompt: mark('uploaded-frames'),
          seconds: '10',
          size: '1280x720',
          first_frame: image('first'),
          last_frame: image('last'),
        },
      },
      submit: {
        expect: expectJob({
          model: 'MiniMax-Hailuo-02',
          prompt: mark('uploaded-frames'),
          first_frame_image: dataUrl('first'),
          last_frame_image: dataUrl('last'),
          duration: 10,
          resolution: '768P',
        }),
        answers: [{ json: accepted('uploaded-frames') }],
      },
      outcome: {
        artifacts: artifacts('uploaded-frames'),
        bill: 0.05 * 10 * 500_000,
        video: { status: 'completed', progress: 100 },
      },
    },
    {
      ...played('portrait'),
      client: {
        via: 'video',
        json: {
          model: 'S2V-01',
          prompt: mark('portrait'),
          subject_reference: [{ type: 'character', image: ['https://example.com/a.png'] }],
        },
      },
      submit: {
        expect: expectJob({
          model: 'S2V-01',
          prompt: mark('portrait'),
          subject_reference: [{ type: 'character', image: ['https://example.com/a.png'] }],
          duration: 6,
          resolution: '720P',
        }),
        answers: [{ json: accepted('portrait') }],
      },
      outcome: { artifacts: artifacts('portrait'), bill: 0.65 * 500_000 },
    },
    {
      ...played('made-larger'),
      client: { via: 'video', json: { model: 'MiniMax-Hailuo-2.3', prompt: mark('made-larger') } },
      submit: {
        expect: expectJob({
          model: 'MiniMax-Hailuo-2.3',
          prompt: mark('made-larger'),
          duration: 6,
          resolution: '768P',
        }),
        answers: [{ json: accepted('made-larger') }],
      },
      poll: {
        expect: expectPoll('made-larger'),
        answers: [{ json: { ...done('made-larger'), video_width: 1080, video_height: 1920 } }],
      },
      outcome: { artifacts: artifacts('made-larger'), bill: 0.08 * 6 * 500_000 },
    },
    {
      name: 'bad-input',
      client: {
        via: 'generic',
        json: { model: 'MiniMax-Hailuo-2.3', prompt: mark('bad-input'), duration: 10, resolution: '1080P' },
      },
      outcome: {
        refused: { status: 400, message: 'The length of a 1080P video of MiniMax-Hailuo-2.3 is 6 seconds.' },
      },
    },
  ],
};
