/** The way to vendors, and of several keys how each does. */
import { expect, test } from 'bun:test';
import { createChannels } from '../../src/channels/index.ts';
import { createSecretBox, sentence, silentLogger, systemClock, systemRandom } from '../../src/kernel/index.ts';
import { checkNetwork } from '../../src/operations/doctor/check-network.ts';
import { createUpstream } from '../../src/upstream/index.ts';
import { describeEachStore } from '../contract/each-store.ts';

describeEachStore(
  'doctor --network',
  (opened) => {
    test('says of each of several keys whether it takes tasks, and why not, and sends none of them', async () => {
      const { store } = opened();
      const headers: string[] = [];
      const vendor = Bun.serve({
        port: 0,
        hostname: '127.0.0.1',
        fetch(request) {
          headers.push(JSON.stringify([...request.headers]));
          return new Response('', { status: 404 });
        },
      });
      const common = { store, clock: systemClock, logger: silentLogger };
      const secretBox = createSecretBox(['secret']);
      const channels = createChannels({
        ...common,
        ...{ random: systemRandom, secretBox, syncFrequencyMs: 60_000 },
        plugins: { plugin: () => undefined, byChannelType: () => undefined },
      });
      const upstream = createUpstream({ allowPrivate: true, clock: systemClock, logger: silentLogger });
      try {
        const labels = ['good', 'resting', 'over', 'off', 'lost'];
        const { channel } = await channels.create({
          ...{ name: 'v', type: 1, baseUrl: vendor.url.origin, models: ['m'] },
          credentials: labels.map((label) => ({ key: `key-${label}-0123456789`, label })),
        });
        const keys = await store.credentials.ofChannel(channel.id);
        const [good = 0, resting = 0, over = 0, off = 0, lost = 0] = keys.map(({ id }) => id);
        const rest = { reason: 'credential', step: 2, generation: 0, forMs: 3_600_000 };
        await store.capacity.beginRest({ pool: `#${channel.id}/${resting}`, model: '' }, rest, null);
        await store.credentials.recordError(resting, { said: sentence('trial.key_lost'), at: 60 });
        await store.credentials.update(over, { expiresAt: 60, updatedAt: 1 });
        await store.credentials.update(off, { status: 2, updatedAt: 1 });
        await store.credentials.update(lost, { keySealed: createSecretBox(['other']).seal('a'), updatedAt: 1 });
        const findings = await checkNetwork({ store, secretBox, upstream, clock: systemClock }, String(channel.id));
        const said = findings.map(({ level, message }) => `${level} ${message}`);
        expect(said.slice(-5)).toEqual([
          expect.stringContaining('ok channel 1 (v): key good: takes tasks'),
          expect.stringMatching(
            /^warning .* key resting: rests for \d+ s \(credential, 2 in a row\); the vendor refused/,
          ),
          expect.stringContaining('key over: it ended 1970-01-01T00:01:00Z'),
          expect.stringContaining('ok channel 1 (v): key off: disabled'),
          expect.stringMatching(/^error .* key lost: no CRYPTO_SECRET decrypts it/),
        ]);
        expect(good).toBeGreaterThan(0);
        expect(headers.join()).not.toContain('0123456789');
        // One key is the channel itself.
        for (const id of [resting, over, off, lost]) await store.credentials.remove(id, 5);
        const alone = await checkNetwork({ store, secretBox, upstream, clock: systemClock }, undefined);
        expect(alone.filter(({ message }) => message.includes('): key '))).toEqual([]);
      } finally {
        channels.stop();
        await upstream.close();
        await vendor.stop(true);
      }
    });
  },
  { fresh: 'test', databases: ['sqlite'] },
);
