import { type Answer, mark, type Outcome, type Scenario, type Vendor, videoBytes } from './vendor.ts';

const KIB = 1024;
const MP3 = { 'content-type': 'audio/mpeg', 'character-cost': '40' };
const bytesFor = (name: string, size: number): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(size).fill(0xff);
  bytes.set(videoBytes(name));
  return bytes;
};
const historyPath = (name: string) => `/v1/history/item-${mark(name)}/audio`;

/** One request for speech, its answers, and what is looked up later. */
const speak = (name: string, answers: Answer[], { found, ...outcome }: Outcome & { found?: Answer[] }): Scenario => ({
  name,
  client: { via: 'generic', json: { model: 'eleven_multilingual_v2', text: 'Hello', voice: mark(name) } },
  submit: {
    expect: {
      ...{ method: 'POST', path: `/v1/text-to-speech/${mark(name)}`, query: { output_format: 'mp3_44100_128' } },
      json: { model_id: 'eleven_multilingual_v2', text: 'Hello' },
    },
    answers,
  },
  ...(found
    ? {
        poll: {
          expect: { method: 'GET', path: '/v1/history', query: { page_size: '50', voice_id: mark(name) } },
          answers: found,
        },
      }
    : {}),
  content: [
    {
      expect: { method: 'GET', path: historyPath(name), headers: { 'xi-api-key': 'sk_1' } },
      answer: { bytes: bytesFor(name, 2 * 1024 * KIB), headers: { 'content-type': 'audio/mpeg' } },
    },
  ],
  outcome,
});
const spoken = (name: string, size: number, headers: Record<string, string> = {}): Answer => ({
  bytes: bytesFor(name, size),
  headers: { ...MP3, 'request-id': `req-${mark(name)}`, ...headers },
});
/** Forty characters by the vendor's count, not the five of the text. */
const bill = 0.001 * 40 * 500_000;
const audio = (name: string, size: number) => ({ artifacts: { audio: bytesFor(name, size) }, bill });
const refused = (message: string, jobs = 1, status = 400): Outcome => ({ refused: { status, message }, jobs });
const LARGE = 3 * 1024 * KIB;
const item = (name: string) => ({ history_item_id: `item-${mark(name)}`, request_id: `req-${mark(name)}` });

export const vendor: Vendor = {
  key: 'elevenlabs',
  channel: { key: 'sk_1', models: ['eleven_multilingual_v2', 'eleven_text_to_sound_v2', 'music_v1'] },
  prices: {
    eleven_multilingual_v2: '0.001 * u("characters")',
    eleven_text_to_sound_v2: '0.01 * u("seconds")',
    music_v1: '0.01 * u("seconds")',
  },
  authorize: ({ headers }) => (headers['xi-api-key'] === 'sk_1' ? undefined : `xi-api-key is ${headers['xi-api-key']}`),
  scenarios: [
    speak('success', [spoken('success', 700 * KIB)], audio('success', 700 * KIB)),
    speak('busy-at-poll', [spoken('busy-at-poll', 9 * KIB)], audio('busy-at-poll', 9 * KIB)),
    speak('unknown-status', [spoken('unknown-status', LARGE)], {
      ...audio('unknown-status', 2 * 1024 * KIB),
      found: [
        { json: { history: [] } },
        { status: 429, json: {} },
        { json: { history: [{ request_id: 'x' }, item('unknown-status')] } },
      ],
    }),
    speak(
      'long-with-item',
      [spoken('long-with-item', LARGE, { 'history-item-id': `item-${mark('long-with-item')}` })],
      {
        ...audio('long-with-item', 2 * 1024 * KIB),
      },
    ),
    speak('no-audio', [{ text: '<html>' }], refused('ElevenLabs answered without audio.')),
    speak('complaint', [{ json: { detail: { message: 'No credits.' } } }], refused('No credits.')),
    speak('bad-key', [{ status: 401, json: {} }], refused("The vendor rejected the channel's key.", 0, 502)),
    {
      name: 'sound',
      client: { via: 'generic', json: { model: 'eleven_text_to_sound_v2', text: mark('sound'), seconds: 20 } },
      submit: {
        expect: {
          ...{ method: 'POST', path: '/v1/sound-generation', query: { output_format: 'mp3_44100_128' } },
          json: { model_id: 'eleven_text_to_sound_v2', text: mark('sound'), duration_seconds: 20 },
        },
        answers: [spoken('sound', 16_000 * 3)],
      },
      // What came has three seconds.
      outcome: { artifacts: { audio: bytesFor('sound', 16_000 * 3) }, bill: 0.01 * 3 * 500_000 },
    },
    {
      name: 'music-too-long',
      client: { via: 'generic', json: { model: 'music_v1', prompt: mark('music-too-long'), seconds: 300 } },
      outcome: {
        refused: {
          status: 400,
          message: 'In mp3_44100_32 the gateway can keep 175 seconds; ask for less or for a lower bit rate.',
        },
      },
    },
  ],
};
