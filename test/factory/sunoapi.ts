import { expect } from 'bun:test';
import { type Answer, type Expected, mark, type Outcome, type Scenario, type Vendor, videoBytes } from './vendor.ts';

const accepted = (name: string): Answer => ({ json: { code: 'success', message: '', data: `job-${mark(name)}` } });
const task = (name: string, more: Record<string, unknown>): Answer => ({
  json: {
    task_id: `job-${mark(name)}`,
    action: 'MUSIC',
    fail_reason: '',
    submit_time: 1_790_000_000,
    start_time: 0,
    finish_time: 0,
    progress: '0%',
    data: [],
    ...more,
  },
});
const song = (name: string, number: number) => ({
  id: `clip-${number}`,
  title: `Song ${number}`,
  status: 'complete',
  audio_url: `{vendor}/cdn/${mark(name)}-${number}.mp3`,
  image_url: `{vendor}/cdn/${mark(name)}-${number}.jpeg`,
  metadata: { duration: 100 * number },
});
const done = (name: string): Answer =>
  task(name, { status: 'SUCCESS', progress: '100%', data: [song(name, 1), song(name, 2)] });

/** A finished task in the gateway's answer. */
const asClientsSee = (name: string) => ({
  task_id: '{task}',
  action: 'MUSIC',
  status: 'SUCCESS',
  fail_reason: '',
  submit_time: expect.any(Number),
  finish_time: expect.any(Number),
  progress: '100%',
  data: [1, 2].map((number) => ({
    ...song(name, number),
    audio_url: expect.stringContaining(`/cdn/${mark(name)}-${number}.mp3`),
    image_url: expect.stringContaining(`/cdn/${mark(name)}-${number}.jpeg`),
  })),
});

const fileNames = ['1.mp3', '1.jpeg', '2.mp3', '2.jpeg'];
const content = (name: string): NonNullable<Scenario['content']> =>
  fileNames.map((file) => ({
    expect: { method: 'GET', path: `/cdn/${mark(name)}-${file}`, headers: { authorization: null } },
    answer: { bytes: videoBytes(`${name} ${file}`) },
  }));
const succeeded = (name: string, more: Outcome = {}): Outcome => ({
  artifacts: {
    'audio-1': videoBytes(`${name} 1.mp3`),
    'cover-1': videoBytes(`${name} 1.jpeg`),
    'audio-2': videoBytes(`${name} 2.mp3`),
    'cover-2': videoBytes(`${name} 2.jpeg`),
  },
  // Two songs of 300 seconds together, as the vendor tells at the end.
  bill: (2 * 0.02 + 300 * 0.0001) * 500_000,
  ...more,
});

const expectJob = (kind: string, json: unknown): Expected => ({ method: 'POST', path: `/suno/submit/${kind}`, json });

/** A song of an idea, whose answers are what matters. */
const make = (
  name: string,
  { submits, polls, outcome }: { submits: Answer[]; polls: Answer[]; outcome: Outcome },
): Scenario => ({
  name,
  client: { via: 'generic', json: { model: 'suno_music', gpt_description_prompt: mark(name) } },
  submit: {
    expect: expectJob('music', { make_instrumental: false, gpt_description_prompt: mark(name) }),
    answers: submits,
  },
  poll: { answers: polls },
  content: content(name),
  outcome,
});
const succeedsAfter = (name: string, polls: Answer[]): Scenario =>
  make(name, { submits: [accepted(name)], polls: [...polls, done(name)], outcome: succeeded(name) });
const refused = (
  name: string,
  { answer, status, message, jobs = 1 }: { answer: Answer; status: number; message: string; jobs?: number },
): Scenario => make(name, { submits: [answer], polls: [], outcome: { refused: { status, message }, jobs } });

const readIds = (json: unknown): unknown => (json as { ids?: unknown } | undefined)?.ids;
const BUSY: Answer = { status: 429, headers: { 'retry-after': '1' }, json: { message: 'too many requests' } };
const NO_JOB = 'The music service answered without a task.';

export const vendor: Vendor = {
  key: 'sunoapi',
  channel: { key: 'suno-key', models: ['suno_music', 'suno_lyrics'] },
  prices: { suno_music: '0.02 * u("clips") + 0.0001 * u("seconds")', suno_lyrics: '0.01 * u("clips")' },
  authorize: ({ headers }) =>
    headers.authorization === 'Bearer suno-key' ? undefined : `authorization is ${headers.authorization}`,
  batch: {
    expect: {
      method: 'POST',
      path: '/suno/fetch',
      headers: { 'content-type': 'application/json' },
      check: ({ json }) => {
        const ids = readIds(json);
        const sound = Array.isArray(ids) && ids.every((id) => /^job-x-.+-x$/.test(String(id)));
        return sound && new Set(ids).size === ids.length ? undefined : `ids are ${JSON.stringify(ids)}`;
      },
    },
    jobs: ({ json }) => (Array.isArray(readIds(json)) ? (readIds(json) as unknown[]).map(String) : []),
    compose: (items) => ({ code: 'success', message: '', data: items }),
  },
  scenarios: [
    succeedsAfter('success', [
      task('success', { status: 'QUEUED' }),
      task('success', { status: 'IN_PROGRESS', progress: '40%', data: [song('success', 1)] }),
    ]),
    make('failure', {
      submits: [accepted('failure')],
      polls: [task('failure', { status: 'FAILURE', fail_reason: 'The words are refused.' })],
      outcome: { status: 'FAILURE', reason: 'The words are refused.' },
    }),
    make('busy-at-submission', {
      submits: [BUSY, accepted('busy-at-submission')],
      polls: [done('busy-at-submission')],
      outcome: succeeded('busy-at-submission', { attempts: 2 }),
    }),
    succeedsAfter('busy-at-poll', [BUSY]),
    succeedsAfter('unknown-status', [task('unknown-status', { status: 'RESTING' })]),
    succeedsAfter('odd-item', [{ json: null }, { json: { task_id: 'another', status: 'SUCCESS' } }, { json: [] }]),
    succeedsAfter('nothing-in-it', [task('nothing-in-it', { status: 'SUCCESS' })]),
    succeedsAfter('odd-batch', [{ text: '<html>' }, { status: 204 }, { status: 404, text: 'gone' }]),
    refused('complaint', {
      answer: { json: { code: 'fail', message: 'no credits left' } },
      status: 400,
      message: 'no credits left',
    }),
    refused('no-job', { answer: { json: { code: 'success', data: '' } }, status: 400, message: NO_JOB }),
    refused('html', { answer: { text: '<html>' }, status: 400, message: NO_JOB }),
    refused('empty', { answer: {}, status: 400, message: NO_JOB }),
    refused('bad-key', {
      answer: { status: 401, json: { message: 'bad key' } },
      status: 502,
      message: "The vendor rejected the channel's key.",
      jobs: 0,
    }),
    refused('rejected', {
      answer: { status: 400, json: { message: 'too long' } },
      status: 400,
      message: 'The vendor responded with HTTP 400: "too long"',
      jobs: 0,
    }),
    {
      name: 'lyrics',
      client: { via: 'generic', json: { model: 'suno_lyrics', prompt: mark('lyrics'), title: 'left out' } },
      submit: { expect: expectJob('lyrics', { prompt: mark('lyrics') }), answers: [accepted('lyrics')] },
      poll: {
        answers: [
          task('lyrics', {
            action: 'LYRICS',
            status: 'SUCCESS',
            data: { id: 'l-1', title: 'Cat', text: 'Meow 喵', status: 'complete' },
          }),
        ],
      },
      outcome: {
        artifacts: { 'lyrics-1': new TextEncoder().encode('Meow 喵') },
        bill: 0.01 * 500_000,
      },
    },
    {
      name: 'native',
      client: {
        via: 'native',
        submit: { path: '/suno/submit/music', json: { gpt_description_prompt: mark('native') } },
        taskIdIn: ({ data }) => data,
        read: (id) => ({ path: '/suno/fetch', json: { ids: [id] } }),
        isEnded: ({ data }) => data[0].status === 'SUCCESS',
        answers: {
          submitted: { code: 'success', message: '', data: '{task}' },
          finished: { code: 'success', message: '', data: [asClientsSee('native')] },
        },
      },
      submit: {
        expect: expectJob('music', { make_instrumental: false, gpt_description_prompt: mark('native') }),
        answers: [accepted('native')],
      },
      poll: { answers: [done('native')] },
      content: content('native'),
      outcome: succeeded('native'),
    },
    {
      name: 'native-continued',
      origin: 'native',
      client: {
        via: 'native',
        submit: {
          path: '/suno/submit/music',
          json: {
            prompt: mark('native-continued'),
            task_id: '{task:native}',
            continue_clip_id: 'clip-1',
            continue_at: 60,
          },
        },
        taskIdIn: ({ data }) => data,
        read: (id) => ({ path: `/suno/fetch/${id}` }),
        isEnded: ({ data }) => data.status === 'SUCCESS',
        answers: {
          submitted: { code: 'success', message: '', data: '{task}' },
          finished: { code: 'success', message: '', data: asClientsSee('native-continued') },
        },
      },
      submit: {
        // The vendor gets its own id of the task.
        expect: expectJob('music', {
          make_instrumental: false,
          prompt: mark('native-continued'),
          task_id: `job-${mark('native')}`,
          continue_clip_id: 'clip-1',
          continue_at: 60,
        }),
        answers: [accepted('native-continued')],
      },
      poll: { answers: [done('native-continued')] },
      content: content('native-continued'),
      outcome: succeeded('native-continued'),
    },
    {
      name: 'bad-input',
      client: { via: 'generic', json: { model: 'suno_music', tags: mark('bad-input') } },
      outcome: {
        refused: {
          status: 400,
          message: 'Please give a gpt_description_prompt, or the words of the song as prompt.',
        },
      },
    },
  ],
};
