import { usualCases } from './usual-cases.ts';
import { type Expected, mark, NO_QUOTA, type Scenario, type Vendor, videoBytes } from './vendor.ts';

const MODEL = 'doubao-seedream-4-5-251128';
const made = (name: string, count = 1) => ({
  ...{ model: MODEL, created: 1_790_000_000 },
  data: Array.from({ length: count }, (_, index) => ({ url: `{vendor}/cdn/${mark(name)}-${index}.jpeg` })),
  usage: { generated_images: count, output_tokens: 16_384 * count, total_tokens: 16_384 * count },
});
const expectImages = (json: Record<string, unknown>): Expected => ({
  ...{ method: 'POST', path: '/api/v3/images/generations' },
  json: { model: MODEL, size: '2048x2048', response_format: 'url', ...json },
});
const content = (name: string, count = 1): NonNullable<Scenario['content']> =>
  Array.from({ length: count }, (_, index) => ({
    expect: { method: 'GET', path: `/cdn/${mark(name)}-${index}.jpeg`, headers: { authorization: null } },
    answer: { bytes: videoBytes(`${name}-${index}`), headers: { 'content-type': 'image/jpeg' } },
  }));
const ONE = { sequential_image_generation: 'disabled' };
/** The images are there with the submission: nothing is asked for. */
const POLLED = new Set([
  'success',
  'failure',
  'busy-at-submission',
  'busy-at-poll',
  'unknown-status',
  'odd-polls',
  'lost',
]);

export const vendor: Vendor = {
  key: 'seedream',
  channel: { key: 'ark-1', models: [MODEL] },
  prices: { [MODEL]: '0.04 * u("images")' },
  authorize: ({ headers }) =>
    headers.authorization === 'Bearer ark-1' ? undefined : `authorization is ${headers.authorization}`,
  scenarios: [
    ...usualCases({
      client: (name) => ({ model: MODEL, prompt: mark(name) }),
      submit: (name) => expectImages({ prompt: mark(name), ...ONE }),
      accepted: made,
      poll: () => ({ method: 'GET', path: '/never' }),
      running: () => ({}),
      done: () => ({}),
      failed: { json: () => ({}), reason: '' },
      unknown: () => ({}),
      complaint: {
        json: { error: { code: 'AccountOverdueError', message: 'overdue' } },
        message: NO_QUOTA,
        status: 503,
      },
      noJob: { json: { data: [] }, message: 'Volcengine Ark answered without an image.' },
      unauthorized: { status: 401, json: { error: { code: 'AuthenticationError', message: 'wrong key' } } },
      content,
      artifacts: () => ({}),
      bill: 0,
    }).filter(({ name }) => !POLLED.has(name)),
    {
      name: 'text',
      client: { via: 'generic', json: { model: MODEL, prompt: mark('text') } },
      submit: { expect: expectImages({ prompt: mark('text'), ...ONE }), answers: [{ json: made('text') }] },
      content: content('text'),
      outcome: { artifacts: { image: videoBytes('text-0') }, bill: 0.04 * 500_000 },
    },
    {
      // Four were ordered and reserved; the vendor made two.
      name: 'group',
      client: {
        via: 'generic',
        json: { model: MODEL, prompt: mark('group'), n: 4, image: 'https://example.com/a.png', size: '4K' },
      },
      submit: {
        expect: expectImages({
          ...{ prompt: mark('group'), size: '4K', image: 'https://example.com/a.png' },
          ...{ sequential_image_generation: 'auto', sequential_image_generation_options: { max_images: 4 } },
        }),
        answers: [{ json: made('group', 2) }],
      },
      content: content('group', 2),
      outcome: {
        artifacts: { image: videoBytes('group-0'), 'image-2': videoBytes('group-1') },
        bill: 0.04 * 2 * 500_000,
      },
    },
    {
      name: 'withheld',
      client: { via: 'generic', json: { model: MODEL, prompt: mark('withheld') } },
      submit: {
        expect: expectImages({ prompt: mark('withheld'), ...ONE }),
        answers: [
          { json: { data: [{ error: { code: 'OutputImageSensitiveContentDetected', message: 'Withheld.' } }] } },
        ],
      },
      outcome: { status: 'FAILURE', reason: 'Withheld.' },
    },
  ],
};
