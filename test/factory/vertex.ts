import { accountKey, verifyAssertion } from '../support/service-account-cloud.ts';
import { usualCases } from './usual-cases.ts';
import { type Expected, mark, type Vendor, videoBytes } from './vendor.ts';

const MODEL = 'vertex/veo-3.1-generate-001';
const TOKEN = 'ya29.token-of-the-stand-in';
const at = (region: string, model: string) =>
  `projects/project-7/locations/${region}/publishers/google/models/${model}`;
const NAMED = at('us-central1', 'veo-3.1-generate-001');
const nameFor = (name: string, place = NAMED) => `${place}/operations/${mark(name)}`;
const stored = (name: string, place = NAMED) => ({
  name: nameFor(name, place),
  done: true,
  response: {
    '@type': 'type.googleapis.com/cloud.ai.large_models.vision.GenerateVideoResponse',
    raiMediaFilteredCount: 0,
    videos: [{ gcsUri: `gs://results/videos/${mark(name)}/sample_0.mp4`, mimeType: 'video/mp4' }],
  },
});
const expectJob = (parameters: Record<string, unknown>, name: string, place = NAMED): Expected => ({
  method: 'POST',
  path: `/v1/${place}:predictLongRunning`,
  check({ json }) {
    const { storageUri, ...rest } = (json as { parameters: Record<string, unknown> }).parameters;
    if (!/^gs:\/\/results\/videos\/task_\w{32}\/$/.test(String(storageUri))) return `storageUri is ${storageUri}`;
    const wanted = { instances: [{ prompt: mark(name) }], parameters: { sampleCount: 1, ...parameters } };
    const got = { ...(json as object), parameters: rest };
    return Bun.deepEquals(got, wanted)
      ? undefined
      : `expected ${JSON.stringify(wanted)}, received ${JSON.stringify(got)}`;
  },
});
const expectPoll = (name: string, place = NAMED): Expected => ({
  method: 'POST',
  path: `/v1/${place}:fetchPredictOperation`,
  json: { operationName: nameFor(name, place) },
});
const content = (name: string) => [
  {
    expect: {
      method: 'GET',
      path: `/storage/v1/b/results/o/videos%2F${mark(name)}%2Fsample_0.mp4`,
      query: { alt: 'media' },
      headers: { authorization: `Bearer ${TOKEN}` },
    },
    answer: { bytes: videoBytes(name) },
  },
];
const artifacts = (name: string) => ({ video: videoBytes(name) });
const usual = { aspectRatio: '16:9', durationSeconds: 4, resolution: '720p', generateAudio: true };

/** Bytes of a length that is not a multiple of three, so that the end of their Base64 is padded. */
const film = (seed: number, length: number) => Uint8Array.from({ length }, (_byte, index) => (index * seed) % 251);
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
/** An answer with the films themselves. Slashes are escaped, as some vendors do. */
const inline = (name: string, films: Uint8Array[]) => ({
  text: JSON.stringify({
    name: nameFor(name),
    done: true,
    response: { videos: films.map((bytes) => ({ bytesBase64Encoded: base64(bytes), mimeType: 'video/mp4' })) },
  }).replaceAll('/', '\\/'),
});
const short = [film(7, 20_000)];
/** More than 1 MiB, so that polls get the answer without the films. */
const long = [film(11, 20_000), film(13, 1_400_001)];

export const vendor: Vendor = {
  key: 'vertex',
  channel: {
    key: accountKey('{vendor}'),
    models: [MODEL, 'my-veo'],
    model_mapping: { 'my-veo': 'vertex/veo-2.0-generate-001' },
    settings: {
      storage_uri: 'gs://results/videos',
      region: { 'veo-2.0-generate-001': 'global', default: 'us-central1' },
    },
  },
  prices: { [MODEL]: '(u("audio") ? 0.4 : 0.2) * u("seconds")', 'my-veo': '0.35 * u("seconds")' },
  async serve({ path, fields }, origin) {
    if (path !== '/token') return undefined;
    await verifyAssertion(origin, String(fields?.assertion));
    return { json: { access_token: TOKEN, expires_in: 3600 } };
  },
  authorize: ({ headers }) =>
    headers.authorization === `Bearer ${TOKEN}` ? undefined : `authorization is ${headers.authorization}`,
  scenarios: [
    ...usualCases({
      client: (name) => ({ model: MODEL, prompt: mark(name), seconds: 4 }),
      submit: (name) => expectJob(usual, name),
      accepted: (name) => ({ name: nameFor(name) }),
      poll: (name) => expectPoll(name),
      running: (name) => ({ name: nameFor(name) }),
      done: (name) => stored(name),
      failed: {
        json: (name) => ({
          name: nameFor(name),
          done: true,
          response: { raiMediaFilteredCount: 1, raiMediaFilteredReasons: ['The prompt goes against the policies.'] },
        }),
        reason: 'The prompt goes against the policies.',
      },
      unknown: () => ({ done: false }),
      complaint: {
        json: { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } },
        message: 'The answer holds no operation: The model is overloaded.',
      },
      noJob: { json: { metadata: {} }, message: 'The answer holds no operation.' },
      unauthorized: { status: 403, json: { error: { code: 403, message: 'Permission denied.' } } },
      content,
      artifacts,
      bill: 0.4 * 4 * 500_000,
    }),
    {
      name: 'mapped-to-another-region',
      client: { via: 'video', json: { model: 'my-veo', prompt: mark('mapped-to-another-region'), seconds: 5 } },
      submit: {
        expect: expectJob(
          { aspectRatio: '16:9', durationSeconds: 5 },
          'mapped-to-another-region',
          at('global', 'veo-2.0-generate-001'),
        ),
        answers: [{ json: { name: nameFor('mapped-to-another-region', at('global', 'veo-2.0-generate-001')) } }],
      },
      poll: {
        expect: expectPoll('mapped-to-another-region', at('global', 'veo-2.0-generate-001')),
        answers: [{ json: stored('mapped-to-another-region', at('global', 'veo-2.0-generate-001')) }],
      },
      content: content('mapped-to-another-region'),
      outcome: { artifacts: artifacts('mapped-to-another-region'), bill: 0.35 * 5 * 500_000 },
    },
    ...[
      { name: 'inline', films: short },
      { name: 'inline-and-large', films: long },
    ].map(({ name, films }) => ({
      name,
      client: { via: 'video' as const, json: { model: MODEL, prompt: mark(name), seconds: 4, audio: false } },
      submit: {
        expect: expectJob({ ...usual, generateAudio: false }, name),
        answers: [{ json: { name: nameFor(name) } }],
      },
      // The same question brings the films when a client asks for them.
      poll: { expect: expectPoll(name), answers: [{ json: { name: nameFor(name) } }, inline(name, films)] },
      outcome: {
        artifacts: Object.fromEntries(
          films.map((bytes, index) => [index === 0 ? 'video' : `video-${index + 1}`, bytes]),
        ),
        bill: 0.2 * 4 * 500_000,
      },
    })),
    {
      name: 'an-address-of-the-operator',
      client: { via: 'video', json: { model: MODEL, prompt: 'x', image: 'gs://private/1.png' } },
      outcome: {
        refused: { status: 400, message: 'image is an image file or a data URL with Base64: Veo takes no addresses.' },
      },
    },
  ],
};
