/** What a deleted account has left goes by itself: nobody runs a command. */

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { setUp, signIn, startGateway, startVendor } from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { until } from '../support/until.ts';

const PROMPT = 'a heron that only ada may know of';
/** The texts of each row of each table that hold the prompt, or the name that was hers. */
function findTraces(dataDir: string): string[] {
  const file = new Database(join(dataDir, 'taskgate.db'), { readonly: true });
  try {
    const tables = file.query("select name from sqlite_schema where type = 'table'").all() as { name: string }[];
    return tables.flatMap(({ name }) =>
      (file.query(`select * from "${name}"`).all() as object[]).some((row) => JSON.stringify(row).includes(PROMPT))
        ? [name]
        : [],
    );
  } finally {
    file.close();
  }
}

test('the content of a deleted account is erased by the next start, without a command', async () => {
  const vendor = await startVendor();
  const first = await startGateway({ env: { TASK_POLL_INTERVAL_SECONDS: '1' } });
  const { dataDir } = first;
  const root = await setUp(first);
  await root.createChannel(vendor.url);
  await root.call('PUT', '/api/price', { plugin_key: '*', model: 'demo-video', expression: '0' });
  const id = await root.createUser({ username: 'ada' });
  const ada = await signIn(first.url, { username: 'ada' });
  const key = await ada.createKey();
  const { body } = await submit(first.url, key, { prompt: `${PROMPT} [duration=0.3]` });
  await waitForEnd(first.url, key, String(body.id));
  expect(findTraces(dataDir)).toContain('tasks');
  await root.call('DELETE', `/api/user/${id}`);
  await first.stop();
  // What requests from before the deletion still write has had its time.
  const file = new Database(join(dataDir, 'taskgate.db'));
  file.run(`update users set deleted_at = deleted_at - 60 where id = ${id}`);
  file.close();

  const second = await startGateway({ dataDir });
  try {
    await second.logged('the content of a deleted account has been erased');
    await until('nothing is left in the database', () => findTraces(dataDir).length === 0);
  } finally {
    await second.stop();
    await vendor.stop();
  }
});
