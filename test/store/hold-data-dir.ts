/**
 * A program of its own for the tests: serves a data directory, writing without end; prints each key
 * once it is durable.
 */
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { openStore } from '../../src/store/index.ts';

const [dataDir = ''] = process.argv.slice(2);
const options = { databaseUrl: '', dataDir, synchronous: 'FULL', clock: systemClock, logger: silentLogger } as const;
const store = await openStore({ ...options, exclusive: true });
const user = await store.users.insert({
  username: 'spender',
  displayName: '',
  passwordHash: null,
  role: 1,
  status: 1,
  email: null,
  group: 'default',
  language: '',
  createdAt: 1,
});
const { id: userId = 0, walletId = 0 } = user ?? {};
await store.ledger.grant({ walletId, kind: 'grant', key: 'start', amount: 1_000_000_000, at: 1 });
process.stdout.write('holding\n');

async function spend(worker: number): Promise<never> {
  for (let i = 0; ; i += 1) {
    const taskId = `task-${worker}-${i}`;
    await store.transaction(async (tx) => {
      await tx.options.put(taskId, 'reserved');
      await tx.ledger.reserve({ walletId, userId, apiKeyId: null, taskId, attempt: 0, amount: 7, at: 1 });
    });
    process.stdout.write(`${taskId}\n`);
    await Bun.sleep(1);
  }
}
await Promise.all(Array.from({ length: 8 }, (_, worker) => spend(worker)));
