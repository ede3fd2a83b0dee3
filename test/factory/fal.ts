import { usualCases } from './usual-cases.ts';
import { type Expected, mark, NO_QUOTA, type Scenario, type Vendor, videoBytes } from './vendor.ts';

const TEXT = 'fal-ai/kling-video/v2.6/pro/text-to-video';
const FRAME = 'fal-ai/kling-video/v2.6/pro/image-to-video';
const IMAGES = 'fal-ai/z-image/turbo';
const OWN_CHOICE = 'fal-ai/ltx-2/text-to-video';

/** fal names a job below the first two segments of its model's path. */
const jobPath = (model: string, name: string) =>
  `/${model.split('/').slice(0, 2).join('/')}/requests/job-${mark(name)}`;
const accepted = (name: string, model = TEXT) => ({
  ...{ status: 'IN_QUEUE', request_id: `job-${mark(name)}`, queue_position: 0 },
  ...{ response_url: `{vendor}${jobPath(model, name)}`, status_url: `{vendor}${jobPath(model, name)}/status` },
  cancel_url: `{vendor}${jobPath(model, name)}/cancel`,
});
const expectJob = (model: string, json: unknown): Expected => ({ method: 'POST', path: `/${model}`, json });
const expectPoll = (name: string, model = TEXT): Expected => ({
  method: 'GET',
  path: `${jobPath(model, name)}/status`,
  headers: { authorization: 'Key id:secret' },
});
const completed = { status: 'COMPLETED', metrics: { inference_time: 4.2 } };
const file = (name: string, ending: string) => ({ url: `{vendor}/cdn/${mark(name)}.${ending}` });
/** The result has an address of its own, which needs the key; the file does not. */
const content = (
  name: string,
  { model = TEXT, ending = 'mp4', result = { video: file(name, ending) } as unknown } = {},
): NonNullable<Scenario['content']> => [
  {
    expect: { method: 'GET', path: jobPath(model, name), headers: { authorization: 'Key id:secret' } },
    answer: { json: result },
  },
  {
    expect: { method: 'GET', path: `/cdn/${mark(name)}.${ending}`, headers: { authorization: null } },
    answer: { bytes: videoBytes(name) },
  },
];

export const vendor: Vendor = {
  key: 'fal',
  channel: {
    key: 'id:secret',
    models: [TEXT, FRAME, IMAGES, 'my-fal-video'],
    model_mapping: { 'my-fal-video': 'fal/video' },
    settings: { paths: { 'my-fal-video': OWN_CHOICE } },
  },
  prices: {
    [TEXT]: '(u("audio") ? 0.14 : 0.07) * u("seconds")',
    [FRAME]: '0.07 * u("seconds")',
    [IMAGES]: '0.005 * u("megapixels")',
    'my-fal-video': '0.04 * u("seconds")',
  },
  authorize: ({ headers }) =>
    headers.authorization === 'Key id:secret' ? undefined : `authorization is ${headers.authorization}`,
  scenarios: [
    ...usualCases({
      client: (name) => ({ model: TEXT, prompt: mark(name) }),
      submit: (name) => expectJob(TEXT, { prompt: mark(name), duration: '5', generate_audio: true }),
      accepted,
      poll: expectPoll,
      running: () => ({ status: 'IN_PROGRESS', logs: null }),
      done: () => completed,
      failed: {
        json: () => ({ ...completed, error: 'Runner disconnected', error_type: 'runner_disconnected' }),
        reason: 'Runner disconnected',
      },
      unknown: () => ({ status: 'RESTING' }),
      complaint: { json: { detail: 'Not now' }, message: 'Not now' },
      noJob: { json: { request_id: '' }, message: 'fal answered without a request.' },
      unauthorized: { status: 401, json: { detail: 'Authentication is required' } },
      content,
      artifacts: (name) => ({ video: videoBytes(name) }),
      bill: 0.14 * 5 * 500_000,
    }),
    {
      name: 'uploaded-frame',
      client: {
        via: 'video',
        form: {
          ...{ model: FRAME, prompt: mark('uploaded-frame'), seconds: '10' },
          ...{ input_reference: new File([videoBytes('frame')], 'a.png', { type: 'image/png' }) },
          metadata: '{"cfg_scale":0.4,"sync_mode":true}',
        },
      },
      submit: {
        expect: expectJob(FRAME, {
          ...{ cfg_scale: 0.4, prompt: mark('uploaded-frame'), duration: '10', generate_audio: true },
          image_url: `data:image/png;base64,${Buffer.from(videoBytes('frame')).toString('base64')}`,
        }),
        answers: [{ json: accepted('uploaded-frame', FRAME) }],
      },
      poll: { expect: expectPoll('uploaded-frame', FRAME), answers: [{ json: completed }] },
      content: content('uploaded-frame', { model: FRAME }),
      outcome: {
        artifacts: { video: videoBytes('uploaded-frame') },
        bill: 0.07 * 10 * 500_000,
        video: { status: 'completed', progress: 100 },
      },
    },
    {
      name: 'own-choice',
      client: { via: 'video', json: { model: 'my-fal-video', prompt: mark('own-choice'), size: '1280x720' } },
      submit: {
        expect: expectJob(OWN_CHOICE, { prompt: mark('own-choice'), aspect_ratio: '16:9' }),
        answers: [{ json: accepted('own-choice', OWN_CHOICE) }],
      },
      poll: { expect: expectPoll('own-choice', OWN_CHOICE), answers: [{ json: completed }] },
      content: content('own-choice', {
        model: OWN_CHOICE,
        result: { video: { ...file('own-choice', 'mp4'), duration: 6 } },
      }),
      // The length that the answer tells, in place of the ten seconds that were reserved.
      outcome: { artifacts: { video: videoBytes('own-choice') }, bill: 0.04 * 6 * 500_000 },
    },
    {
      name: 'images',
      client: { via: 'generic', json: { model: IMAGES, prompt: mark('images'), n: 1, size: '1024x1024' } },
      submit: {
        expect: expectJob(IMAGES, {
          ...{ prompt: mark('images'), num_images: 1, image_size: { width: 1024, height: 1024 } },
        }),
        answers: [{ json: accepted('images', IMAGES) }],
      },
      poll: { expect: expectPoll('images', IMAGES), answers: [{ json: completed }] },
      content: content('images', {
        ...{ model: IMAGES, ending: 'png' },
        result: { images: [{ ...file('images', 'png'), width: 1024, height: 1024 }], has_nsfw_concepts: [false] },
      }),
      outcome: { artifacts: { image: videoBytes('images') }, bill: 0.005 * 2 * 500_000 },
    },
    {
      name: 'flagged-result',
      client: { via: 'generic', json: { model: TEXT, prompt: mark('flagged-result'), audio: false } },
      submit: {
        expect: expectJob(TEXT, { prompt: mark('flagged-result'), duration: '5', generate_audio: false }),
        answers: [{ json: accepted('flagged-result') }],
      },
      poll: { expect: expectPoll('flagged-result'), answers: [{ json: completed }] },
      content: [
        {
          expect: { method: 'GET', path: jobPath(TEXT, 'flagged-result') },
          answer: {
            status: 422,
            json: { detail: [{ loc: ['body', 'prompt'], msg: 'Flagged.', type: 'content_policy_violation' }] },
          },
        },
      ],
      outcome: { status: 'FAILURE', reason: 'prompt: Flagged.' },
    },
    {
      name: 'no-balance',
      client: { via: 'generic', json: { model: TEXT, prompt: mark('no-balance') } },
      submit: {
        expect: expectJob(TEXT, { prompt: mark('no-balance'), duration: '5', generate_audio: true }),
        answers: [{ status: 403, json: { detail: 'User is locked. Reason: Exhausted balance.' } }],
      },
      outcome: { refused: { status: 503, message: NO_QUOTA }, jobs: 0 },
    },
  ],
};
