import { expect } from 'bun:test';
import { createHmac } from 'node:crypto';
import { usualCases } from './usual-cases.ts';
import { type Expected, mark, type Received, type Vendor, videoBytes } from './vendor.ts';

const KEY = 'kling-access|kling-secret';

/** A token of HS256 by the key's two halves that is valid now and for half an hour at most. */
function authorize({ headers }: Received): string | undefined {
  const [accessKey = '', secretKey = ''] = KEY.split('|');
  const [head = '', claims = '', signature] = (headers.authorization ?? '').replace(/^Bearer /, '').split('.');
  if (signature !== createHmac('sha256', secretKey).update(`${head}.${claims}`).digest('base64url')) {
    return `the signature of the token is wrong: ${headers.authorization}`;
  }
  const { iss, exp, nbf } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, unknown>;
  const now = Date.now() / 1000;
  const valid = iss === accessKey && Number(nbf) <= now && Number(exp) > now && Number(exp) <= now + 1801;
  return valid ? undefined : `the token is not valid: iss ${iss}, exp ${exp}, nbf ${nbf}`;
}

const job = (name: string, more: Record<string, unknown> = {}) => ({
  code: 0,
  message: 'SUCCEED',
  request_id: 'r-1',
  data: {
    task_id: `job-${mark(name)}`,
    task_status: 'submitted',
    task_info: {},
    created_at: 1_790_000_000_000,
    updated_at: 1_790_000_000_000,
    ...more,
  },
});
const done = (name: string) =>
  job(name, {
    task_status: 'succeed',
    task_result: { videos: [{ id: 'v-1', url: `{vendor}/cdn/${mark(name)}.mp4`, duration: '5.1' }] },
  });

/** The body but for the id of this gateway's task, which is new every time. */
const expectJob = (kind: string, body: Record<string, unknown>): Expected => ({
  method: 'POST',
  path: `/v1/videos/${kind}`,
  headers: { 'content-type': 'application/json' },
  check({ json }) {
    const { external_task_id: id, ...rest } = json as Record<string, unknown>;
    if (!/^task_\w{32}$/.test(String(id))) return `external_task_id is ${id}`;
    return Bun.deepEquals(rest, body)
      ? undefined
      : `expected ${JSON.stringify(body)}, received ${JSON.stringify(rest)}`;
  },
});
const expectPoll = (kind: string, name: string): Expected => ({
  method: 'GET',
  path: `/v1/videos/${kind}/job-${mark(name)}`,
});
const content = (name: string) => [
  {
    expect: { method: 'GET', path: `/cdn/${mark(name)}.mp4`, headers: { authorization: null } },
    answer: { bytes: videoBytes(name) },
  },
];
const artifacts = (name: string) => ({ video: videoBytes(name) });

/** What the gateway answers in the vendor's words. */
const envelope = (data: Record<string, unknown>) => ({
  code: 0,
  message: 'SUCCEED',
  request_id: '{task}',
  data: {
    task_id: '{task}',
    task_status_msg: '',
    created_at: expect.any(Number),
    updated_at: expect.any(Number),
    ...data,
  },
});

const image = new File([videoBytes('frame')], 'frame.png', { type: 'image/png' });
const base64 = Buffer.from(videoBytes('frame')).toString('base64');

export const vendor: Vendor = {
  key: 'kling',
  channel: { key: KEY, models: ['kling-v1', 'kling-v1-6', 'kling-v2-6'] },
  prices: {
    'kling-v1': '0.03 * u("seconds")',
    'kling-v1-6': '0.1 * u("units")',
    'kling-v2-6': '(u("mode") == "pro" ? 0.1 : 0.05) * u("seconds") * (u("sound") ? 2 : 1)',
  },
  authorize,
  scenarios: [
    ...usualCases({
      client: (name) => ({ model: 'kling-v1', prompt: mark(name) }),
      submit: (name) =>
        expectJob('text2video', {
          model_name: 'kling-v1',
          prompt: mark(name),
          mode: 'std',
          duration: '5',
          aspect_ratio: '16:9',
        }),
      accepted: (name) => job(name),
      poll: (name) => expectPoll('text2video', name),
      running: (name) => job(name, { task_status: 'processing' }),
      done,
      failed: {
        json: (name) =>
          job(name, { task_status: 'failed', task_status_msg: 'Failure to pass the risk control system' }),
        reason: 'Failure to pass the risk control system',
      },
      unknown: (name) => job(name, { task_status: 'dreaming' }),
      complaint: {
        json: { code: 1303, message: 'parallel task over resource pack limit', request_id: 'r-1' },
        message: 'parallel task over resource pack limit (code 1303)',
        status: 429,
      },
      noJob: { json: { code: 0, message: 'SUCCEED', data: {} }, message: 'The answer holds no task.' },
      unauthorized: { status: 401, json: { code: 1002, message: 'Authorization is invalid' } },
      content,
      artifacts,
      bill: 0.03 * 5 * 500_000,
    }),
    {
      name: 'uploaded-frames',
      client: {
        via: 'video',
        form: {
          model: 'kling-v2-6',
          prompt: mark('uploaded-frames'),
          seconds: '10',
          size: '1080x1920',
          sound: 'true',
          input_reference: image,
          last_frame: 'https://example.com/last.png',
        },
      },
      submit: {
        expect: expectJob('image2video', {
          model_name: 'kling-v2-6',
          prompt: mark('uploaded-frames'),
          mode: 'pro',
          duration: '10',
          sound: 'on',
          image: base64,
          image_tail: 'https://example.com/last.png',
        }),
        answers: [{ json: job('uploaded-frames') }],
      },
      poll: { expect: expectPoll('image2video', 'uploaded-frames'), answers: [{ json: done('uploaded-frames') }] },
      content: content('uploaded-frames'),
      outcome: {
        artifacts: artifacts('uploaded-frames'),
        bill: 0.1 * 10 * 2 * 500_000,
        video: { status: 'completed', seconds: '5.1' },
      },
    },
    {
      name: 'native',
      client: {
        via: 'native',
        submit: {
          path: '/kling/v1/videos/text2video',
          json: { model_name: 'kling-v1', prompt: mark('native'), duration: '5' },
        },
        taskIdIn: ({ data }) => data.task_id,
        read: (id) => ({ path: `/kling/v1/videos/text2video/${id}` }),
        isEnded: ({ data }) => data.task_status === 'succeed',
        answers: {
          submitted: envelope({ task_status: 'submitted' }),
          finished: envelope({
            task_status: 'succeed',
            task_result: {
              videos: [{ id: 'v-1', url: expect.stringContaining(`/cdn/${mark('native')}.mp4`), duration: '5.1' }],
            },
          }),
        },
      },
      submit: {
        expect: expectJob('text2video', {
          model_name: 'kling-v1',
          prompt: mark('native'),
          mode: 'std',
          duration: '5',
          aspect_ratio: '16:9',
        }),
        answers: [{ json: job('native') }],
      },
      poll: { expect: expectPoll('text2video', 'native'), answers: [{ json: done('native') }] },
      content: content('native'),
      outcome: { artifacts: artifacts('native'), bill: 0.03 * 5 * 500_000 },
    },
    {
      name: 'native-bad-input',
      client: {
        via: 'native',
        submit: { path: '/kling/v1/videos/image2video', json: { prompt: mark('native-bad-input') } },
        taskIdIn: () => undefined,
        read: (id) => ({ path: `/kling/v1/videos/image2video/${id}` }),
        isEnded: () => true,
        answers: { submitted: {}, finished: {} },
      },
      outcome: { refused: { status: 400, message: 'Please give an image or image_tail.' } },
    },
    {
      name: 'units-that-were-deducted',
      client: { via: 'video', json: { model: 'kling-v1-6', prompt: mark('units-that-were-deducted') } },
      submit: {
        expect: expectJob('text2video', {
          model_name: 'kling-v1-6',
          prompt: mark('units-that-were-deducted'),
          mode: 'std',
          duration: '5',
          aspect_ratio: '16:9',
        }),
        answers: [{ json: job('units-that-were-deducted') }],
      },
      // Two are reserved.
      poll: {
        expect: expectPoll('text2video', 'units-that-were-deducted'),
        answers: [
          {
            json: job('units-that-were-deducted', {
              ...done('units-that-were-deducted').data,
              final_unit_deduction: '3.5',
            }),
          },
        ],
      },
      content: content('units-that-were-deducted'),
      outcome: { artifacts: artifacts('units-that-were-deducted'), bill: 0.1 * 3.5 * 500_000 },
    },
    {
      name: 'bad-input',
      client: { via: 'generic', json: { model: 'kling-v1', prompt: mark('bad-input'), seconds: 7 } },
      outcome: { refused: { status: 400, message: 'kling-v1 makes videos of 5 or 10 seconds.' } },
    },
  ],
};
