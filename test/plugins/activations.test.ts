import { afterAll, expect, test } from 'bun:test';
import { listChildren } from '../support/child-processes.ts';
import { IS_FULL_RUN } from '../support/full-run.ts';
import { makeService, openTestStore, pluginSource, startSandbox, until } from './support.ts';

const REQUESTS = IS_FULL_RUN ? 1000 : 200;
const ACTIVATIONS = IS_FULL_RUN ? 50 : 10;
const VERSIONS = 5;
const AT_ONCE = 16;

const sandbox = startSandbox();
afterAll(() => sandbox.close());

/** Each hook of a request answers with the version that it belongs to. */
const source = (version: string): string =>
  pluginSource({ version, protocols: ['proto_video'] }).replace(
    /\{ return \{ (url|taskId|status): /g,
    `{ return { by: meta.version, $1: `,
  ) +
  `export const protocols = { proto_video: {
    decodeRequest(ctx) { return { kind: 'submit', model: ctx.model, by: meta.version }; },
    render(ctx, task) { return { by: meta.version }; },
  } };`;
const HOOKS: [hook: string, args: unknown[]][] = [
  ['protocols.proto_video.decodeRequest', [{ model: 'acme-1' }]],
  ['buildSubmitRequest', [{ baseUrl: 'https://api.example', requestBody: {} }]],
  ['parseSubmitResponse', [{}, { body: { id: 'x' } }]],
  ['parseTaskResult', [{}, { status: 'SUCCESS' }]],
  ['protocols.proto_video.render', [{}, {}]],
];

test(`${REQUESTS} requests during ${ACTIVATIONS} activations each finish on the version they began with, while sandbox processes are killed`, async () => {
  const opened = await openTestStore('sqlite');
  const service = makeService(opened.store, sandbox);
  await service.start();
  try {
    for (let n = 0; n < VERSIONS; n++) await service.upload({ source: source(`1.0.${n}`) });
    const mixed: unknown[] = [];
    const seen = new Set<number>();
    let begun = 0;
    let ended = 0;
    let activated = 0;
    /**
     * Requests go on during an activation, but not to their end: however long one takes, some begin
     * after it and before the next.
     */
    const isAhead = () => begun > ((activated + 3) * REQUESTS) / (ACTIVATIONS + 1);
    const work = async (): Promise<void> => {
      while (begun < REQUESTS) {
        if (isAhead()) {
          await Bun.sleep(1);
          continue;
        }
        begun += 1;
        const pin = service.pin();
        seen.add(pin.generation.number);
        const plugin = pin.generation.plugins.get('acme');
        for (const [hook, args] of HOOKS) {
          const outcome = await plugin?.call(hook, args, { owner: 'user:1' });
          const by = outcome?.ok ? (outcome.value as { by: string }).by : outcome;
          if (by !== plugin?.version) mixed.push({ hook, version: plugin?.version, by });
        }
        pin.release();
        ended += 1;
      }
    };
    let killed = 0;
    const activate = async (): Promise<void> => {
      for (let n = 1; n <= ACTIVATIONS; n++) {
        await until(() => ended >= (n * REQUESTS) / (ACTIVATIONS + 1));
        await service.activate('acme', `1.0.${n % VERSIONS}`);
        activated = n;
        if (n % 10 !== 0) continue;
        for (const pid of listChildren(process.pid, '__sandbox').slice(0, 1)) {
          process.kill(pid, 'SIGKILL');
          killed += 1;
        }
      }
    };
    await Promise.all([activate(), ...Array.from({ length: AT_ONCE }, work)]);
    expect(mixed).toEqual([]);
    expect([ended, killed]).toEqual([REQUESTS, ACTIVATIONS / 10]);
    expect(service.current().number).toBe(1 + 1 + ACTIVATIONS);
    expect(seen.size).toBeGreaterThan(ACTIVATIONS / 2);
    expect(sandbox.stats().suspended).toEqual([]);
  } finally {
    await service.stop();
    await opened.close();
  }
});
