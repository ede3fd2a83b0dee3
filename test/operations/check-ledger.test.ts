import { expect, test } from 'bun:test';
import { rm } from 'node:fs/promises';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { createLedgerCheck } from '../../src/operations/watches/check-ledger.ts';
import { openStore } from '../../src/store/index.ts';
import { recordingLogger } from '../http/kit-harness.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

test('a failed check is not repeated by every call, and is tried again after five minutes', async () => {
  const dataDir = temporaryFolder();
  const open = () =>
    openStore({ databaseUrl: '', dataDir, synchronous: 'NORMAL', clock: systemClock, logger: silentLogger });
  let now = 1_000_000;
  const { logger, lines } = recordingLogger();
  let store = await open();
  const away = {
    ...store,
    ledger: { ...store.ledger, imbalances: (limit: number) => store.ledger.imbalances(limit) },
  };
  const ask = createLedgerCheck({
    store: away,
    clock: { ...systemClock, unix: () => now, monotonicMs: () => now * 1000 },
    logger,
  });
  try {
    await store.close();
    for (let asked = 0; asked < 10; asked += 1) {
      expect(ask()).toBeUndefined();
      await until(() => lines.length > 0);
    }
    expect(lines).toHaveLength(1);

    store = await open();
    now += 600;
    expect(ask()).toBeUndefined();
    await until(() => ask() !== undefined);
    expect(ask()).toEqual({ checkedAt: now, wallets: [], tasks: [] });
    expect(lines).toHaveLength(1);
  } finally {
    await store.close();
    await rm(dataDir, { recursive: true, force: true });
  }
});
