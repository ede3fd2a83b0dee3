import { usualCases } from './usual-cases.ts';
import { type Expected, mark, NO_QUOTA, type Scenario, type Vendor, videoBytes } from './vendor.ts';

const MODEL = 'qwen-image-3.0-pro';
const made = (name: string, count = 1) => ({
  request_id: `job-${mark(name)}`,
  output: {
    choices: [
      {
        finish_reason: 'stop',
        message: {
          role: 'assistant',
          content: Array.from({ length: count }, (_, index) => ({ image: `{vendor}/cdn/${mark(name)}-${index}.png` })),
        },
      },
    ],
  },
  usage: { image_count: count, width: 1328, height: 1328 },
});
const expectImages = (content: unknown[], parameters: Record<string, unknown> = { n: 1 }): Expected => ({
  ...{ method: 'POST', path: '/api/v1/services/aigc/multimodal-generation/generation' },
  json: { model: MODEL, input: { messages: [{ role: 'user', content }] }, parameters },
});
const content = (name: string, count = 1): NonNullable<Scenario['content']> =>
  Array.from({ length: count }, (_, index) => ({
    expect: { method: 'GET', path: `/cdn/${mark(name)}-${index}.png`, headers: { authorization: null } },
    answer: { bytes: videoBytes(`${name}-${index}`), headers: { 'content-type': 'image/png' } },
  }));
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
  key: 'qwen-image',
  channel: { key: 'sk-1', models: [MODEL] },
  prices: { [MODEL]: '0.07 * u("images")' },
  authorize: ({ headers }) =>
    headers.authorization === 'Bearer sk-1' ? undefined : `authorization is ${headers.authorization}`,
  scenarios: [
    ...usualCases({
      client: (name) => ({ model: MODEL, prompt: mark(name) }),
      submit: (name) => expectImages([{ text: mark(name) }]),
      accepted: made,
      poll: () => ({ method: 'GET', path: '/never' }),
      running: () => ({}),
      done: () => ({}),
      failed: { json: () => ({}), reason: '' },
      unknown: () => ({}),
      complaint: { json: { code: 'Arrearage', message: 'overdue' }, message: NO_QUOTA, status: 503 },
      noJob: { json: { output: {} }, message: 'Model Studio answered without an image.' },
      unauthorized: { status: 401, json: { code: 'InvalidApiKey', message: 'wrong key' } },
      content,
      artifacts: () => ({}),
      bill: 0,
    }).filter(({ name }) => !POLLED.has(name)),
    {
      name: 'edit',
      client: {
        via: 'generic',
        json: { model: MODEL, prompt: mark('edit'), n: 2, size: '1024x1024', image: 'https://example.com/a.png' },
      },
      submit: {
        expect: expectImages([{ image: 'https://example.com/a.png' }, { text: mark('edit') }], {
          ...{ n: 2, size: '1024*1024' },
        }),
        answers: [{ json: made('edit', 2) }],
      },
      content: content('edit', 2),
      outcome: {
        artifacts: { image: videoBytes('edit-0'), 'image-2': videoBytes('edit-1') },
        bill: 0.07 * 2 * 500_000,
      },
    },
  ],
};
