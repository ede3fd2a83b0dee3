import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { SQL } from 'bun';
import { findProgram, postgresFolders } from '../support/find-program.ts';
import { startPostgres, startRedis } from '../support/start-services.ts';

test('PostgreSQL starts on a free port, answers, and leaves nothing behind', async () => {
  const program = findProgram(['postgres'], postgresFolders());
  const service = await startPostgres(String(program).replace(/\/postgres$/, ''));
  const sql = new SQL(service.url, { max: 1 });
  const [row] = await sql`select current_setting('data_directory') as folder, current_setting('fsync') as fsync`;
  expect(row.fsync).toBe('off');
  expect(existsSync(row.folder)).toBe(true);
  await sql.close();
  await service.stop();
  expect(existsSync(row.folder)).toBe(false);
});

test('Redis starts on a free port and ends on request', async () => {
  const service = await startRedis(String(findProgram(['redis-server', 'valkey-server'])));
  const port = Number(new URL(service.url).port);
  await service.stop();
  const connect = Bun.connect({ hostname: '127.0.0.1', port, socket: { data: () => {} } });
  await expect(connect).rejects.toThrow();
});

test('a server that does not start says why', async () => {
  await expect(startRedis('/bin/false')).rejects.toThrow('/bin/false');
});

test('what cannot be had is named with its package and its variable', async () => {
  // A path without programs; not root, so that nothing is installed.
  const script = `
    process.getuid = () => 1000;
    const { provideServices } = await import(${JSON.stringify(new URL('../support/provide-services.ts', import.meta.url).pathname)});
    await provideServices({ TEST_DATABASE_URL: 'postgres://given', CHROMIUM_PATH: '/given' }).then(() => console.log('provided'), (error) => console.log(error.message));
  `;
  const child = Bun.spawn([process.execPath, '-e', script], {
    env: { PATH: '/nowhere' },
    stdout: 'pipe',
    stderr: 'inherit',
  });
  expect((await new Response(child.stdout).text()).trim()).toBe(
    'The tests need Redis or Valkey: install the package redis-server (or valkey-server, valkey), or set TEST_REDIS_URL.',
  );
});
