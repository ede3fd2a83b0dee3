import { type Answer, mark, NO_QUOTA, type Outcome, type Scenario, type Vendor, videoBytes } from './vendor.ts';

const FINE = { status_code: 0, status_msg: 'success' };
const song = (name: string, audio: string) => ({
  data: { audio, status: 2 },
  trace_id: `trace-${mark(name)}`,
  extra_info: { music_duration: 25_364 },
  base_resp: FINE,
});
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
/** Longer than what an answer is cut to. */
const LONG = new Uint8Array(Buffer.concat(Array(8).fill(videoBytes('in-hex'))));

/** One request, and its answers. */
const play = (name: string, answers: Answer[], outcome: Outcome): Scenario => ({
  name,
  client: { via: 'generic', json: { model: 'music-2.0', prompt: 'folk', lyrics: mark(name) } },
  submit: {
    expect: {
      ...{ method: 'POST', path: '/v1/music_generation' },
      json: { model: 'music-2.0', prompt: 'folk', lyrics: mark(name), output_format: 'url' },
    },
    answers,
  },
  content: [
    {
      expect: { method: 'GET', path: `/cdn/${mark(name)}.mp3`, headers: { authorization: null } },
      answer: { bytes: videoBytes(name), headers: { 'content-type': 'audio/mpeg' } },
    },
  ],
  outcome,
});
const made = (name: string): Answer => ({ json: song(name, `{vendor}/cdn/${mark(name)}.mp3`) });
/** The length that the vendor tells, not the reserved one. */
const bill = 0.001 * 26 * 500_000;
const refused = (message: string, jobs = 1, status = 400): Outcome => ({ refused: { status, message }, jobs });
const busy: Answer = { status: 429, headers: { 'retry-after': '1' }, json: { message: 'too many requests' } };

export const vendor: Vendor = {
  key: 'minimax-music',
  channel: { key: 'music-key', models: ['music-2.0'] },
  prices: { 'music-2.0': '0.001 * u("seconds")' },
  authorize: ({ headers }) =>
    headers.authorization === 'Bearer music-key' ? undefined : `authorization is ${headers.authorization}`,
  scenarios: [
    play('success', [made('success')], { artifacts: { audio: videoBytes('success') }, bill }),
    play('busy-at-poll', [made('busy-at-poll')], { artifacts: { audio: videoBytes('busy-at-poll') }, bill }),
    play('in-hex', [{ json: song('in-hex', hex(LONG)) }], { artifacts: { audio: LONG }, bill }),
    play('busy', [busy, made('busy')], { artifacts: { audio: videoBytes('busy') }, bill, attempts: 2 }),
    play(
      'complaint',
      [{ json: { base_resp: { status_code: 1008, status_msg: 'insufficient balance' } } }],
      refused(NO_QUOTA, 2, 503),
    ),
    play('no-song', [{ json: { data: {}, base_resp: FINE } }], refused('MiniMax answered without a song.')),
    play('html', [{ text: '<html>' }], refused('MiniMax answered without a song.')),
    play('bad-key', [{ status: 401, json: {} }], refused("The vendor rejected the channel's key.", 0, 502)),
  ],
};
