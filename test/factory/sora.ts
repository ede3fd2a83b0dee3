import { type Answer, type Expected, mark, type Scenario, type Vendor, videoBytes } from './vendor.ts';

const IMAGE = new File([videoBytes('frame')], 'frame.png', { type: 'image/png' });
/** 0.1 USD a second, four seconds, 500,000 units a USD. */
const BILL = 0.1 * 4 * 500_000;

const job = (name: string, more: Record<string, unknown> = {}) => ({
  id: `video_${mark(name)}`,
  object: 'video',
  model: 'sora-2',
  status: 'queued',
  progress: 0,
  created_at: 1_790_000_000,
  seconds: '4',
  size: '720x1280',
  error: null,
  ...more,
});
const running = (name: string): Answer => ({ json: job(name, { status: 'in_progress', progress: 42 }) });
const done = (name: string, more = {}): Answer => ({
  json: job(name, { status: 'completed', progress: 100, ...more }),
});

const expectSubmit = (name: string): Expected => ({
  method: 'POST',
  path: '/v1/videos',
  json: { model: 'sora-2', prompt: mark(name), seconds: '4', size: '720x1280' },
});
const expectPoll = (name: string): Expected => ({ method: 'GET', path: `/v1/videos/video_${mark(name)}` });

/** A text request whose answers are what matters. */
const plain = (
  name: string,
  { polls, outcome, submits }: { polls: Answer[]; outcome: Scenario['outcome']; submits?: Answer[] },
): Scenario => ({
  name,
  client: { via: 'generic', json: { model: 'sora-2', prompt: mark(name) } },
  submit: { expect: expectSubmit(name), answers: submits ?? [{ json: job(name) }] },
  poll: { expect: expectPoll(name), answers: polls },
  content: contentFor(name),
  outcome,
});

const contentFor = (name: string): Scenario['content'] => {
  const path = `/v1/videos/video_${mark(name)}/content`;
  const headers = { authorization: 'Bearer sora-key' };
  return [
    { expect: { method: 'GET', path, headers }, answer: { bytes: videoBytes(name) } },
    {
      expect: { method: 'GET', path, headers, query: { variant: 'thumbnail' } },
      answer: { bytes: videoBytes('thumbnail') },
    },
    {
      expect: { method: 'GET', path, headers, query: { variant: 'spritesheet' } },
      answer: { bytes: videoBytes('sprites') },
    },
  ];
};
const succeeded = (name: string, more: Scenario['outcome'] = {}): Scenario['outcome'] => ({
  artifacts: { video: videoBytes(name), thumbnail: videoBytes('thumbnail'), spritesheet: videoBytes('sprites') },
  bill: BILL,
  ...more,
});
const odd = (name: string, answer: Answer, message: string): Scenario =>
  plain(name, { polls: [], outcome: { refused: { status: 400, message } }, submits: [answer] });

export const vendor: Vendor = {
  key: 'sora',
  channel: { key: 'sora-key', models: ['sora-2', 'sora-2-pro'] },
  prices: {
    'sora-2': '0.1 * u("seconds")',
    'sora-2-pro': '(u("resolution") == "1080p" ? 0.7 : 0.3) * u("seconds")',
  },
  authorize: ({ headers }) =>
    headers.authorization === 'Bearer sora-key' ? undefined : `authorization is ${headers.authorization}`,
  scenarios: [
    plain('success', {
      polls: [{ json: job('success') }, running('success'), done('success')],
      outcome: succeeded('success'),
    }),
    {
      ...plain('video-api', {
        polls: [done('video-api', { seconds: '8', size: '1920x1080', expires_at: 1_790_003_600 })],
        outcome: {},
      }),
      client: {
        via: 'video',
        json: { model: 'sora-2-pro', prompt: mark('video-api'), seconds: 12, size: '1920x1080' },
      },
      submit: {
        expect: {
          method: 'POST',
          path: '/v1/videos',
          json: { model: 'sora-2-pro', prompt: mark('video-api'), seconds: '12', size: '1920x1080' },
        },
        answers: [{ json: job('video-api', { seconds: '12' }) }],
      },
      // Twelve seconds were requested, eight were produced.
      outcome: succeeded('video-api', {
        bill: 0.7 * 8 * 500_000,
        video: { status: 'completed', progress: 100, seconds: '8', size: '1920x1080' },
      }),
    },
    {
      ...plain('uploaded-image', { polls: [done('uploaded-image')], outcome: succeeded('uploaded-image') }),
      client: { via: 'video', form: { model: 'sora-2', prompt: mark('uploaded-image'), input_reference: IMAGE } },
      submit: {
        expect: {
          method: 'POST',
          path: '/v1/videos',
          fields: {
            model: 'sora-2',
            prompt: mark('uploaded-image'),
            seconds: '4',
            size: '720x1280',
            input_reference: { file: 'frame.png', type: 'image/png', bytes: videoBytes('frame') },
          },
        },
        answers: [{ json: job('uploaded-image') }],
      },
    },
    {
      ...plain('image-address', { polls: [done('image-address')], outcome: succeeded('image-address') }),
      client: {
        via: 'video',
        form: {
          model: 'sora-2',
          prompt: mark('image-address'),
          'input_reference[image_url]': 'https://example.com/cat.png',
        },
      },
      submit: {
        expect: {
          method: 'POST',
          path: '/v1/videos',
          json: {
            model: 'sora-2',
            prompt: mark('image-address'),
            seconds: '4',
            size: '720x1280',
            input_reference: { image_url: 'https://example.com/cat.png' },
          },
        },
        answers: [{ json: job('image-address') }],
      },
    },
    plain('failure', {
      polls: [
        running('failure'),
        {
          json: job('failure', {
            status: 'failed',
            error: { code: 'moderation_blocked', message: 'Blocked by our moderation system.' },
          }),
        },
      ],
      outcome: { status: 'FAILURE', reason: 'Blocked by our moderation system.' },
    }),
    plain('failed-at-once', {
      polls: [],
      outcome: { status: 'FAILURE', reason: 'too_busy' },
      submits: [{ json: job('failed-at-once', { status: 'failed', error: { code: 'too_busy', message: '' } }) }],
    }),
    plain('busy-at-submission', {
      polls: [done('busy-at-submission')],
      outcome: succeeded('busy-at-submission', { attempts: 2 }),
      submits: [
        { status: 429, headers: { 'retry-after': '1' }, json: { error: { message: 'Rate limit reached.' } } },
        { json: job('busy-at-submission') },
      ],
    }),
    plain('busy-at-poll', {
      polls: [{ status: 429, headers: { 'retry-after': '1' }, text: 'slow down' }, done('busy-at-poll')],
      outcome: succeeded('busy-at-poll'),
    }),
    plain('unknown-status', {
      polls: [{ json: job('unknown-status', { status: 'paused' }) }, done('unknown-status')],
      outcome: succeeded('unknown-status'),
    }),
    plain('odd-polls', {
      polls: [
        { json: { error: { message: 'internal' } } },
        { text: '<html>' },
        { status: 204 },
        { json: [] },
        done('odd-polls'),
      ],
      outcome: succeeded('odd-polls'),
    }),
    plain('lost', {
      polls: [{ status: 404, json: { error: { message: 'not found' } } }],
      outcome: {
        status: 'FAILURE',
        reason: 'upstream task not found (HTTP 404)',
      },
    }),
    odd(
      'error-envelope',
      { json: { error: { message: 'Billing hard limit reached.' } } },
      'The answer holds no video: Billing hard limit reached.',
    ),
    odd('html', { text: '<html>hello</html>' }, 'The answer holds no video.'),
    odd('empty', { status: 200 }, 'The answer holds no video.'),
    odd('no-id', { json: job('no-id', { id: null }) }, 'The answer holds no video.'),
    plain('bad-key', {
      polls: [],
      outcome: { refused: { status: 502, message: "The vendor rejected the channel's key." }, jobs: 0 },
      submits: [{ status: 401, json: { error: { message: 'Incorrect API key provided: sora-key' } } }],
    }),
    plain('rejected', {
      polls: [],
      outcome: { refused: { status: 400, message: 'The vendor responded with HTTP 400: "Invalid prompt."' }, jobs: 0 },
      submits: [{ status: 400, json: { error: { message: 'Invalid prompt.', code: 'invalid_value' } } }],
    }),
    {
      name: 'bad-input',
      client: { via: 'generic', json: { model: 'sora-2', prompt: mark('bad-input'), seconds: 5 } },
      outcome: { refused: { status: 400, message: 'seconds is one of 4, 8, 12, 16, 20.' } },
    },
  ],
};
