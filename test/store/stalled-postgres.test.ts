import { afterEach, expect, test } from 'bun:test';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { openStore } from '../../src/store/index.ts';
import { type HoldingProxy, startHoldingProxy } from '../support/holding-proxy.ts';
import { startLivedTime } from '../support/lived-time.ts';
import { testDatabaseUrl, withOwnTimeouts } from '../support/postgres.ts';
import { until } from '../support/until.ts';

let proxy: HoldingProxy | undefined;
afterEach(() => proxy?.stop());

test('a database that hangs refuses new calls and pending reads within seconds, and serves again once it answers', async () => {
  const url = new URL(withOwnTimeouts(await testDatabaseUrl()));
  proxy = await startHoldingProxy({ host: url.hostname, port: Number(url.port || 5432) });
  url.host = new URL(proxy.url).host;
  const store = await openStore({
    ...{ databaseUrl: url.href, dataDir: '', synchronous: 'FULL', clock: systemClock, logger: silentLogger },
  });
  try {
    await store.options.put('before', '1');
    proxy.mode = 'hold_answers';
    const reading = store.options.get('before').catch((error) => error.code);
    const writing = store.options.put('after', '1');
    const lived = startLivedTime();
    await until('calls fail', async () => {
      const answer = store.options.get('before').then(
        () => 'answered',
        (error) => error.code,
      );
      return (await Promise.race([answer, systemClock.sleep(500).then(() => 'waits')])) === 'store.unavailable';
    });
    // The start of the process's watch, its suspicion and the probe: not a statement's whole time.
    expect(lived.stop()).toBeLessThan(20_000);
    // What others may wait for is asked again later; of what writes nobody knows whether it was
    // done.
    expect(await reading).toBe('store.unavailable');
    proxy.mode = 'pass';
    proxy.release();
    await until('calls are answered', async () =>
      store.options.get('before').then(
        (value) => value === '1',
        () => false,
      ),
    );
    await writing;
    expect(await store.options.get('after')).toBe('1');
  } finally {
    proxy.mode = 'pass';
    proxy.release();
    await store.close();
  }
});
