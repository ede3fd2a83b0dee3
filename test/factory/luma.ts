import { expect } from 'bun:test';
import { usualCases } from './usual-cases.ts';
import { type Expected, mark, type Scenario, type Vendor, videoBytes } from './vendor.ts';

const ROOT = '/dream-machine/v1/generations';
const generation = (name: string, more: Record<string, unknown>) => ({ id: `job-${mark(name)}`, ...more });
const done = (name: string) =>
  generation(name, {
    state: 'completed',
    assets: { video: `{vendor}/cdn/${mark(name)}.mp4` },
    request: { duration: '5s', resolution: '720p' },
  });
const expectJob = (json: unknown): Expected => ({ method: 'POST', path: ROOT, json });
const expectPoll = (name: string): Expected => ({ method: 'GET', path: `${ROOT}/job-${mark(name)}` });
const content = (name: string): NonNullable<Scenario['content']> => [
  {
    expect: { method: 'GET', path: `/cdn/${mark(name)}.mp4`, headers: { authorization: null } },
    answer: { bytes: videoBytes(name) },
  },
];
const order = (name: string) => ({ model: 'ray-2', prompt: mark(name), resolution: '720p', duration: '5s' });

export const vendor: Vendor = {
  key: 'luma',
  channel: { key: 'luma-1', models: ['ray-2'] },
  prices: { 'ray-2': '0.1 * u("seconds")' },
  authorize: ({ headers }) =>
    headers.authorization === 'Bearer luma-1' ? undefined : `authorization is ${headers.authorization}`,
  scenarios: [
    ...usualCases({
      client: (name) => ({ model: 'ray-2', prompt: mark(name) }),
      submit: (name) => expectJob(order(name)),
      accepted: (name) => generation(name, { state: 'queued' }),
      poll: expectPoll,
      running: (name) => generation(name, { state: 'dreaming' }),
      done,
      failed: {
        json: (name) => generation(name, { state: 'failed', failure_reason: 'not allowed' }),
        reason: 'not allowed',
      },
      unknown: (name) => generation(name, { state: 'resting' }),
      complaint: { json: { detail: 'Insufficient credits' }, message: 'Insufficient credits' },
      noJob: { json: { id: '' }, message: 'Luma answered without a generation.' },
      unauthorized: { status: 401, json: { detail: 'Not authenticated' } },
      content,
      artifacts: (name) => ({ video: videoBytes(name) }),
      bill: 0.1 * 5 * 500_000,
    }),
    {
      name: 'continued',
      origin: 'success',
      client: {
        via: 'native',
        submit: {
          path: `/luma${ROOT}`,
          json: {
            ...{ model: 'ray-2', prompt: mark('continued') },
            keyframes: { frame0: { type: 'generation', id: '{task:success}' } },
          },
        },
        taskIdIn: ({ id }) => id,
        read: (id) => ({ path: `/luma${ROOT}/${id}` }),
        isEnded: ({ state }) => state === 'completed',
        answers: {
          submitted: expect.objectContaining({ id: '{task}', state: 'queued', model: 'ray-2' }) as unknown,
          finished: expect.objectContaining({ id: '{task}', state: 'completed' }) as unknown,
        },
      },
      submit: {
        expect: expectJob({
          ...order('continued'),
          keyframes: { frame0: { type: 'generation', id: `job-${mark('success')}` } },
        }),
        answers: [{ json: generation('continued', { state: 'queued' }) }],
      },
      poll: { expect: expectPoll('continued'), answers: [{ json: done('continued') }] },
      content: content('continued'),
      outcome: { artifacts: { video: videoBytes('continued') }, bill: 0.1 * 5 * 500_000 },
    },
  ],
};
