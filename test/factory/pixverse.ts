import { expect } from 'bun:test';
import { usualCases } from './usual-cases.ts';
import { type Expected, mark, NO_QUOTA, type Received, type Scenario, type Vendor, videoBytes } from './vendor.ts';

const fine = (Resp: unknown) => ({ ErrCode: 0, ErrMsg: 'Success', Resp });
const video = (name: string, more: Record<string, unknown>) =>
  fine({ id: 7, outputWidth: 960, prompt: mark(name), ...more });
/** Each request has a trace id of its own. */
const seen = new Set<string>();
const checkTrace = ({ headers }: Received): string | undefined => {
  const trace = headers['ai-trace-id'] ?? '';
  if (trace === '' || seen.has(trace)) return `the trace id "${trace}" is not a new one`;
  seen.add(trace);
  return undefined;
};
const expectJob = (kind: string, json: unknown): Expected => ({
  method: 'POST',
  path: `/openapi/v2/video/${kind}/generate`,
  json,
});
const expectPoll = (name: string): Expected => ({ method: 'GET', path: `/openapi/v2/video/result/job-${mark(name)}` });
const content = (name: string, ending = 'mp4'): NonNullable<Scenario['content']> => [
  {
    expect: { method: 'GET', path: `/cdn/${mark(name)}.${ending}`, headers: { 'api-key': null } },
    answer: { bytes: videoBytes(name) },
  },
];
/** In the answers to the vendor's clients. */
const address = (name: string, ending: string): unknown => expect.stringContaining(`/cdn/${mark(name)}.${ending}`);
const FILE = new File([videoBytes('file')], `${mark('upload-of-a-file')}.png`, { type: 'image/png' });
const done = (name: string) => video(name, { status: 1, url: `{vendor}/cdn/${mark(name)}.mp4` });

export const vendor: Vendor = {
  key: 'pixverse',
  channel: { key: 'sk-1', models: ['pixverse-v5', 'pixverse-upload'] },
  prices: { 'pixverse-v5': '0.02 * u("seconds")', 'pixverse-upload': '0' },
  authorize: (received) =>
    received.headers['api-key'] === 'sk-1' ? checkTrace(received) : `api-key is ${received.headers['api-key']}`,
  scenarios: [
    ...usualCases({
      client: (name) => ({ model: 'pixverse-v5', prompt: mark(name) }),
      submit: (name) =>
        expectJob('text', { prompt: mark(name), duration: 5, quality: '540p', model: 'v5', aspect_ratio: '16:9' }),
      accepted: (name) => fine({ video_id: `job-${mark(name)}` }),
      poll: expectPoll,
      running: (name) => video(name, { status: 5, url: '' }),
      done,
      failed: {
        json: (name) => video(name, { status: 7, url: '' }),
        reason: 'The video was withheld by the moderation of PixVerse.',
      },
      unknown: (name) => video(name, { status: 99 }),
      complaint: {
        json: { ErrCode: 500090, ErrMsg: 'Insufficient balance', Resp: null },
        message: NO_QUOTA,
        status: 503,
      },
      noJob: { json: fine({}), message: 'PixVerse answered without a task.' },
      unauthorized: { status: 401, json: { ErrCode: 10005, ErrMsg: 'no key' } },
      content,
      artifacts: (name) => ({ video: videoBytes(name) }),
      bill: 0.02 * 5 * 500_000,
    }),
    {
      name: 'upload',
      client: {
        via: 'native',
        submit: {
          path: '/pixverse/openapi/v2/image/upload',
          json: { image_url: `https://example.com/${mark('upload')}.png` },
        },
        taskIdIn: ({ Resp }) => Resp.img_id,
        read: (id) => ({ path: `/pixverse/openapi/v2/video/result/${id}` }),
        isEnded: ({ Resp }) => Resp.status === 1,
        answers: {
          submitted: fine({ img_id: '{task}', img_url: address('upload', 'png') }),
          finished: fine({ img_id: 42, img_url: address('upload', 'png'), id: '{task}', status: 1 }),
        },
      },
      submit: {
        expect: {
          ...{ method: 'POST', path: '/openapi/v2/image/upload' },
          fields: { image_url: `https://example.com/${mark('upload')}.png` },
        },
        answers: [{ json: fine({ img_id: 42, img_url: `{vendor}/cdn/${mark('upload')}.png` }) }],
      },
      content: content('upload', 'png'),
      outcome: { artifacts: { image: videoBytes('upload') } },
    },
    {
      name: 'upload-of-a-file',
      client: {
        via: 'native',
        submit: { path: '/pixverse/openapi/v2/image/upload', form: { image: FILE } },
        taskIdIn: ({ Resp }) => Resp.img_id,
        read: (id) => ({ path: `/pixverse/openapi/v2/video/result/${id}` }),
        isEnded: ({ Resp }) => Resp.status === 1,
        answers: {
          submitted: fine({ img_id: '{task}', img_url: address('upload-of-a-file', 'png') }),
          finished: fine({ img_id: 43, img_url: address('upload-of-a-file', 'png'), id: '{task}', status: 1 }),
        },
      },
      submit: {
        expect: {
          ...{ method: 'POST', path: '/openapi/v2/image/upload' },
          fields: { image: { file: FILE.name, type: 'image/png', bytes: videoBytes('file') } },
        },
        answers: [{ json: fine({ img_id: 43, img_url: `{vendor}/cdn/${mark('upload-of-a-file')}.png` }) }],
      },
      content: content('upload-of-a-file', 'png'),
      outcome: { artifacts: { image: videoBytes('upload-of-a-file') } },
    },
    {
      name: 'from-upload',
      client: {
        via: 'native',
        submit: {
          path: '/pixverse/openapi/v2/video/img/generate',
          json: { model: 'v5', prompt: mark('from-upload'), duration: 5, quality: '540p', img_id: '{task:upload}' },
        },
        taskIdIn: ({ Resp }) => Resp.video_id,
        read: (id) => ({ path: `/pixverse/openapi/v2/video/result/${id}` }),
        isEnded: ({ Resp }) => Resp.status === 1,
        answers: {
          submitted: fine({ video_id: '{task}' }),
          finished: fine({
            ...{ id: '{task}', status: 1, outputWidth: 960, prompt: mark('from-upload') },
            url: address('from-upload', 'mp4'),
          }),
        },
      },
      submit: {
        expect: expectJob('img', {
          prompt: mark('from-upload'),
          duration: 5,
          quality: '540p',
          img_id: 42,
          model: 'v5',
        }),
        answers: [{ json: fine({ video_id: `job-${mark('from-upload')}` }) }],
      },
      poll: { expect: expectPoll('from-upload'), answers: [{ json: done('from-upload') }] },
      content: content('from-upload'),
      outcome: { artifacts: { video: videoBytes('from-upload') }, bill: 0.02 * 5 * 500_000 },
    },
  ],
};
