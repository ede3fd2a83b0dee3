import { usualCases } from './usual-cases.ts';
import { type Expected, mark, type Scenario, type Vendor, videoBytes } from './vendor.ts';

const result = (name: string, more: Record<string, unknown>) => ({ id: `job-${mark(name)}`, ...more });
const expectJob = (json: unknown): Expected => ({ method: 'POST', path: '/v1/flux-2-pro', json });
const expectPoll = (name: string): Expected => ({
  method: 'GET',
  path: '/v1/get_result',
  query: { id: `job-${mark(name)}` },
});
const content = (name: string): NonNullable<Scenario['content']> => [
  {
    expect: { method: 'GET', path: `/cdn/${mark(name)}.png`, headers: { 'x-key': null } },
    answer: { bytes: videoBytes(name), headers: { 'content-type': 'image/png' } },
  },
];

export const vendor: Vendor = {
  key: 'flux',
  channel: { key: 'bfl-1', models: ['flux-2-pro'] },
  // The vendor charges more than the estimate of 3 credits.
  prices: { 'flux-2-pro': '0.01 * u("credits")' },
  authorize: ({ headers }) => (headers['x-key'] === 'bfl-1' ? undefined : `x-key is ${headers['x-key']}`),
  scenarios: usualCases({
    client: (name) => ({ model: 'flux-2-pro', prompt: mark(name), size: '1024x1024' }),
    submit: (name) => expectJob({ prompt: mark(name), width: 1024, height: 1024 }),
    accepted: (name) => result(name, { polling_url: `{vendor}/v1/get_result?id=job-${mark(name)}`, cost: 4.5 }),
    poll: expectPoll,
    running: (name) => result(name, { status: 'Pending', progress: 0.4, result: null }),
    done: (name) => result(name, { status: 'Ready', result: { sample: `{vendor}/cdn/${mark(name)}.png` } }),
    failed: {
      json: (name) => result(name, { status: 'Content Moderated', details: { 'Moderation Reasons': ['Safety'] } }),
      reason: 'The image was withheld by the moderation of Black Forest Labs. (Safety)',
    },
    unknown: (name) => result(name, { status: 'Resting' }),
    complaint: { json: { detail: 'Insufficient credits' }, message: 'Insufficient credits' },
    noJob: { json: { id: '' }, message: 'Black Forest Labs answered without a task.' },
    unauthorized: { status: 403, json: { detail: 'Not authenticated' } },
    content,
    artifacts: (name) => ({ image: videoBytes(name) }),
    bill: 0.01 * 4.5 * 500_000,
  }),
};
