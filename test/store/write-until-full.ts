/**
 * A program of its own for the tests: writes rows until the disk refuses, then goes on trying until
 * it can again. Prints one JSON line per event: `wrote` when rows are durable, `refused` with what
 * the callers got, `recovered`, `done`.
 */
import { AppError, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { openStore } from '../../src/store/index.ts';

const [dataDir = ''] = process.argv.slice(2);
const say = (event: object) => process.stdout.write(`${JSON.stringify(event)}\n`);
const store = await openStore({
  databaseUrl: '',
  dataDir,
  synchronous: 'FULL',
  clock: systemClock,
  logger: silentLogger,
});

let next = 0;
/**
 * Ten works at once, which share commits; the keys that were durable and what the others were told.
 */
async function writeTen(): Promise<{ keys: string[]; errors: unknown[] }> {
  const names = Array.from({ length: 10 }, () => `key-${next++}`);
  const results = await Promise.allSettled(
    names.map((key) => store.transaction((tx) => tx.options.put(key, 'x'.repeat(20_000)))),
  );
  return {
    keys: names.filter((_, i) => results[i]?.status === 'fulfilled'),
    errors: results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : [])),
  };
}

for (;;) {
  const { keys, errors } = await writeTen();
  say({ event: 'wrote', keys });
  if (errors.length > 0) {
    const refusals = errors.map((error) => (error instanceof AppError ? [error.code, error.message] : [String(error)]));
    say({
      event: 'refused',
      told: refusals,
      reads: (await store.options.all()).length,
      fault: store.writeFault()?.message,
    });
    break;
  }
}
for (;;) {
  const { keys, errors } = await writeTen();
  say({ event: 'wrote', keys });
  if (errors.length === 0) break;
  await Bun.sleep(50);
}
say({ event: 'done', fault: store.writeFault()?.message ?? null });
await store.close();
