import { usualCases } from './usual-cases.ts';
import { type Expected, mark, type Vendor, videoBytes } from './vendor.ts';

const MODEL = 'veo-3.1-generate-preview';
const nameFor = (name: string, model = MODEL) => `models/${model}/operations/${mark(name)}`;
const done = (name: string, model = MODEL) => ({
  name: nameFor(name, model),
  done: true,
  response: {
    '@type': 'type.googleapis.com/google.ai.generativelanguage.v1beta.PredictLongRunningResponse',
    generateVideoResponse: {
      generatedSamples: [
        {
          video: {
            uri: `https://generativelanguage.googleapis.com/v1beta/files/${mark(name)}:download?alt=media`,
          },
        },
      ],
    },
  },
});
const expectJob = (instance: unknown, parameters: unknown, model = MODEL): Expected => ({
  method: 'POST',
  path: `/v1beta/models/${model}:predictLongRunning`,
  json: { instances: [instance], parameters },
});
const expectPoll = (name: string, model = MODEL): Expected => ({
  method: 'GET',
  path: `/v1beta/${nameFor(name, model)}`,
});
const content = (name: string) => [
  {
    expect: {
      method: 'GET',
      path: `/v1beta/files/${mark(name)}:download`,
      query: { alt: 'media' },
      headers: { 'x-goog-api-key': 'veo-key' },
    },
    answer: { bytes: videoBytes(name) },
  },
];
const artifacts = (name: string) => ({ video: videoBytes(name) });
const image = (name: string, type: string) => new File([videoBytes(name)], name, { type });
const bytes = (name: string, mimeType: string) => ({
  bytesBase64Encoded: Buffer.from(videoBytes(name)).toString('base64'),
  mimeType,
});

export const vendor: Vendor = {
  key: 'gemini',
  channel: { key: 'veo-key', models: [MODEL, 'veo-2.0-generate-001'] },
  prices: {
    [MODEL]: '(u("resolution") == "4k" ? 0.6 : 0.4) * u("seconds")',
    'veo-2.0-generate-001': '0.35 * u("seconds")',
  },
  authorize: ({ headers, query }) => {
    if (query.key !== undefined) return 'the key stands in the address';
    return headers['x-goog-api-key'] === 'veo-key' ? undefined : `x-goog-api-key is ${headers['x-goog-api-key']}`;
  },
  scenarios: [
    ...usualCases({
      client: (name) => ({ model: MODEL, prompt: mark(name), seconds: 4 }),
      submit: (name) =>
        expectJob({ prompt: mark(name) }, { aspectRatio: '16:9', durationSeconds: 4, resolution: '720p' }),
      accepted: (name) => ({ name: nameFor(name) }),
      poll: (name) => expectPoll(name),
      running: (name) => ({ name: nameFor(name), metadata: {} }),
      done: (name) => done(name),
      failed: {
        json: (name) => ({
          name: nameFor(name),
          done: true,
          response: {
            generateVideoResponse: {
              raiMediaFilteredCount: 1,
              raiMediaFilteredReasons: ['The prompt goes against the policies.'],
            },
          },
        }),
        reason: 'The prompt goes against the policies.',
      },
      // An operation has no status; an answer without its name is not an operation.
      unknown: () => ({ done: false }),
      complaint: {
        json: { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } },
        message: 'The answer holds no operation: The model is overloaded.',
      },
      noJob: { json: { metadata: {} }, message: 'The answer holds no operation.' },
      unauthorized: { status: 403, json: { error: { code: 403, message: 'Permission denied.' } } },
      // A bare 403 may be about the request.
      keyAttempts: 1,
      content,
      artifacts,
      bill: 0.4 * 4 * 500_000,
    }),
    {
      name: 'failed-operation',
      client: { via: 'generic', json: { model: 'veo-2.0-generate-001', prompt: mark('failed-operation') } },
      submit: {
        expect: expectJob(
          { prompt: mark('failed-operation') },
          { aspectRatio: '16:9', durationSeconds: 8 },
          'veo-2.0-generate-001',
        ),
        answers: [{ json: { name: nameFor('failed-operation', 'veo-2.0-generate-001') } }],
      },
      poll: {
        expect: expectPoll('failed-operation', 'veo-2.0-generate-001'),
        answers: [
          {
            json: {
              name: nameFor('failed-operation', 'veo-2.0-generate-001'),
              done: true,
              error: { code: 13, message: 'Video generation failed due to an internal server issue.' },
            },
          },
        ],
      },
      outcome: { status: 'FAILURE', reason: 'Video generation failed due to an internal server issue.' },
    },
    {
      name: 'uploaded-frames',
      client: {
        via: 'video',
        form: {
          model: MODEL,
          prompt: mark('uploaded-frames'),
          seconds: '8',
          size: '1080x1920',
          negative_prompt: 'rain',
          input_reference: image('first.png', 'image/png'),
          last_frame: image('last.jpg', 'image/jpeg'),
        },
      },
      submit: {
        expect: expectJob(
          {
            prompt: mark('uploaded-frames'),
            image: bytes('first.png', 'image/png'),
            lastFrame: bytes('last.jpg', 'image/jpeg'),
          },
          { aspectRatio: '9:16', durationSeconds: 8, resolution: '1080p', negativePrompt: 'rain' },
        ),
        answers: [{ json: { name: nameFor('uploaded-frames') } }],
      },
      poll: { expect: expectPoll('uploaded-frames'), answers: [{ json: done('uploaded-frames') }] },
      content: content('uploaded-frames'),
      outcome: {
        artifacts: artifacts('uploaded-frames'),
        bill: 0.4 * 8 * 500_000,
        video: { status: 'completed', progress: 100 },
      },
    },
    {
      name: 'bad-input',
      client: {
        via: 'generic',
        json: { model: MODEL, prompt: mark('bad-input'), image: 'https://example.com/cat.png' },
      },
      outcome: {
        refused: {
          status: 400,
          message: 'image is an image file or a data URL with Base64: Veo takes no addresses.',
        },
      },
    },
  ],
};
