import { expect } from 'bun:test';
import { createHash, createHmac } from 'node:crypto';
import { usualCases } from './usual-cases.ts';
import { type Expected, mark, type Received, type Scenario, type Vendor, videoBytes } from './vendor.ts';

const [ACCESS_KEY, SECRET_KEY] = ['AKLT-jimeng', 'c2VjcmV0'];

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

/**
 * Volcengine's signature of a request, worked out again from its description:
 * https://www.volcengine.com/docs/6369/67269.
 */
function checkSignature({ method, path, query, headers, text }: Received): string | undefined {
  const form = /^HMAC-SHA256 Credential=(\S+), SignedHeaders=(\S+), Signature=([0-9a-f]{64})$/;
  const [, credential = '', signedHeaders = '', signature = ''] = form.exec(headers.authorization ?? '') ?? [];
  const date = headers['x-date'] ?? '';
  const time = date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z');
  if (!(Math.abs(Date.now() - Date.parse(time)) < 900_000)) return `x-date ${date} is not of these minutes`;
  if (headers['x-content-sha256'] !== sha256(text)) return 'x-content-sha256 is not that of the body';
  const names = signedHeaders.split(';');
  const needed = ['content-type', 'host', 'x-content-sha256', 'x-date'];
  if (needed.some((name) => !names.includes(name))) return `signed headers are ${signedHeaders}`;
  const scope = `${date.slice(0, 8)}/cn-north-1/cv/request`;
  if (credential !== `${ACCESS_KEY}/${scope}`) return `credential is ${credential}`;
  const canonical = [
    method,
    path,
    Object.keys(query)
      .sort()
      .map((name) => `${encodeURIComponent(name)}=${encodeURIComponent(query[name] ?? '')}`)
      .join('&'),
    ...names.map((name) => `${name}:${headers[name]}`),
    '',
    signedHeaders,
    sha256(text),
  ].join('\n');
  const key = ['cn-north-1', 'cv', 'request'].reduce(hmac, hmac(SECRET_KEY, date.slice(0, 8)));
  const wanted = hmac(key, ['HMAC-SHA256', date, scope, sha256(canonical)].join('\n')).toString('hex');
  return signature === wanted ? undefined : 'the signature is wrong';
}

const answer = (data: unknown) => ({
  code: 10000,
  data,
  message: 'Success',
  request_id: 'r-1',
  status: 10000,
  time_elapsed: '34ms',
});
const refusal = (code: number, message: string) => ({ ...answer(null), code, message, status: code });
const accepted = (name: string) => answer({ task_id: `job-${mark(name)}` });
const done = (name: string) => answer({ status: 'done', video_url: `{vendor}/cdn/${mark(name)}.mp4` });

const expectAction = (Action: string, json: unknown): Expected => ({
  method: 'POST',
  path: '/',
  query: { Action, Version: '2022-08-31' },
  json,
});
const expectJob = (json: unknown) => expectAction('CVSync2AsyncSubmitTask', json);
const expectPoll = (name: string, reqKey = 'jimeng_t2v_v30') =>
  expectAction('CVSync2AsyncGetResult', { req_key: reqKey, task_id: `job-${mark(name)}` });
const content = (name: string): NonNullable<Scenario['content']> => [
  {
    expect: { method: 'GET', path: `/cdn/${mark(name)}.mp4`, headers: { authorization: null, 'x-date': null } },
    answer: { bytes: videoBytes(name) },
  },
];
const artifacts = (name: string) => ({ video: videoBytes(name) });
/** A million characters: they pass through the hooks and are signed. */
const PICTURE = Buffer.alloc(750_000, 7).toString('base64');

export const vendor: Vendor = {
  key: 'jimeng',
  channel: {
    key: `${ACCESS_KEY}|${SECRET_KEY}`,
    models: ['jimeng-video-3.0', 'jimeng-video-3.0-1080p', 'jimeng_t2v_v30'],
  },
  prices: {
    'jimeng-video-3.0': '(u("resolution") == "1080P" ? 0.08 : 0.04) * u("seconds")',
    'jimeng-video-3.0-1080p': '(u("resolution") == "1080P" ? 0.08 : 0.04) * u("seconds")',
    jimeng_t2v_v30: '0.03 * u("seconds")',
  },
  authorize: checkSignature,
  scenarios: [
    ...usualCases({
      client: (name) => ({ model: 'jimeng-video-3.0', prompt: mark(name) }),
      submit: (name) => expectJob({ req_key: 'jimeng_t2v_v30', prompt: mark(name), seed: -1, frames: 121 }),
      accepted,
      poll: expectPoll,
      running: () => answer({ status: 'generating' }),
      done,
      failed: { json: () => refusal(50412, 'Text Risk Not Pass'), reason: 'Text Risk Not Pass (50412)' },
      unknown: () => answer({ status: 'resting' }),
      complaint: { json: refusal(50500, 'Internal Error'), message: 'Internal Error (50500)' },
      noJob: { json: answer({}), message: 'Jimeng answered without a task.' },
      unauthorized: {
        status: 401,
        json: { ResponseMetadata: { Error: { Code: 'InvalidAccessKey', Message: 'No such key.' } } },
      },
      content,
      artifacts,
      bill: 0.04 * 5 * 500_000,
    }),
    {
      name: 'two-frames',
      client: {
        via: 'video',
        json: {
          model: 'jimeng-video-3.0-1080p',
          prompt: mark('two-frames'),
          seconds: '10',
          size: '1080x1920',
          first_frame: 'https://example.com/a.png?x=1&y=2',
          last_frame: 'https://example.com/b.png',
        },
      },
      submit: {
        expect: expectJob({
          req_key: 'jimeng_i2v_first_tail_v30_1080',
          prompt: mark('two-frames'),
          image_urls: ['https://example.com/a.png?x=1&y=2', 'https://example.com/b.png'],
          seed: -1,
          aspect_ratio: '9:16',
          frames: 241,
        }),
        answers: [{ json: accepted('two-frames') }],
      },
      poll: {
        expect: expectPoll('two-frames', 'jimeng_i2v_first_tail_v30_1080'),
        answers: [{ json: answer({ status: 'in_queue' }) }, { json: done('two-frames') }],
      },
      content: content('two-frames'),
      outcome: {
        artifacts: artifacts('two-frames'),
        bill: 0.08 * 10 * 500_000,
        video: { status: 'completed', progress: 100 },
      },
    },
    {
      name: 'image-data',
      client: {
        via: 'video',
        json: { model: 'jimeng-video-3.0', prompt: mark('image-data'), image: `data:image/png;base64,${PICTURE}` },
      },
      submit: {
        expect: expectJob({
          req_key: 'jimeng_i2v_first_v30',
          prompt: mark('image-data'),
          binary_data_base64: [PICTURE],
          seed: -1,
          frames: 121,
        }),
        answers: [{ json: accepted('image-data') }],
      },
      poll: { expect: expectPoll('image-data', 'jimeng_i2v_first_v30'), answers: [{ json: done('image-data') }] },
      content: content('image-data'),
      outcome: { artifacts: artifacts('image-data'), bill: 0.04 * 5 * 500_000 },
    },
    {
      name: 'expired',
      client: { via: 'generic', json: { model: 'jimeng_t2v_v30', prompt: mark('expired'), frames: 241 } },
      submit: {
        expect: expectJob({ req_key: 'jimeng_t2v_v30', prompt: mark('expired'), seed: -1, frames: 241 }),
        answers: [{ json: accepted('expired') }],
      },
      poll: { expect: expectPoll('expired'), answers: [{ json: answer({ status: 'expired' }) }] },
      outcome: { status: 'FAILURE', reason: 'The task has expired at Jimeng; please submit it again.' },
    },
    {
      name: 'native',
      client: {
        via: 'native',
        submit: {
          path: '/jimeng/?Action=CVSync2AsyncSubmitTask&Version=2022-08-31',
          json: { req_key: 'jimeng_t2v_v30', prompt: mark('native') },
        },
        taskIdIn: ({ data }) => data.task_id,
        read: (id) => ({
          path: '/jimeng/?Action=CVSync2AsyncGetResult&Version=2022-08-31',
          json: { req_key: 'jimeng_t2v_v30', task_id: id },
        }),
        isEnded: ({ data }) => data.status === 'done',
        answers: {
          submitted: { code: 10000, data: { task_id: '{task}' }, message: 'Success', status: 10000 },
          finished: answer({
            task_id: '{task}',
            status: 'done',
            video_url: expect.stringContaining(`/cdn/${mark('native')}.mp4`),
          }),
        },
      },
      submit: {
        expect: expectJob({ req_key: 'jimeng_t2v_v30', prompt: mark('native'), seed: -1, frames: 121 }),
        answers: [{ json: accepted('native') }],
      },
      poll: { expect: expectPoll('native'), answers: [{ json: done('native') }] },
      content: content('native'),
      outcome: { artifacts: artifacts('native'), bill: 0.03 * 5 * 500_000 },
    },
    {
      name: 'uploaded-file',
      client: {
        via: 'video',
        form: {
          model: 'jimeng-video-3.0',
          prompt: mark('uploaded-file'),
          input_reference: new File([videoBytes('frame')], 'frame.png', { type: 'image/png' }),
        },
      },
      outcome: {
        refused: {
          status: 400,
          message: 'Jimeng takes no uploaded files; give the image as a URL or as base64 data.',
        },
      },
    },
  ],
};
