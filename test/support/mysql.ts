import { chownSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { findProgram } from './find-program.ts';
import { freePort } from './free-port.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { until } from './until.ts';

/**
 * A MariaDB or MySQL server of one test, with an empty database. Throws, saying what to install,
 * when no server is there.
 */
export async function startMysql(): Promise<{ url: string; stop(): Promise<void> }> {
  const folders = ['/usr/sbin', '/usr/libexec'];
  const server = findProgram(['mariadbd', 'mysqld'], folders);
  if (!server) throw new Error('this test needs MariaDB or MySQL: install it (apt-get install mariadb-server)');
  const data = temporaryFolder();
  const port = await freePort();
  const user = process.getuid?.() === 0 ? ['--user=root'] : [];
  const common = ['--no-defaults', `--datadir=${data}`, ...user];
  const install = findProgram(['mariadb-install-db', 'mysql_install_db']);
  if (process.getuid?.() === 0) chownSync(data, 0, 0);
  const made = install
    ? Bun.spawn([install, ...common, '--auth-root-authentication-method=normal', '--skip-test-db'], quiet)
    : Bun.spawn([server, ...common, '--initialize-insecure'], quiet);
  if ((await made.exited) !== 0) throw new Error('the data folder of MariaDB could not be made');
  const socket = join(data, 'socket');
  const listen = [
    '--bind-address=127.0.0.1',
    `--port=${port}`,
    `--socket=${socket}`,
    `--pid-file=${join(data, 'pid')}`,
  ];
  const child = Bun.spawn([server, ...common, ...listen], quiet);
  const base = `mysql://root@127.0.0.1:${port}`;
  await until(async () => {
    const sql = new SQL({ url: `${base}/mysql`, adapter: 'mysql', max: 1, connectionTimeout: 2 });
    try {
      await sql.unsafe('create database if not exists gate character set utf8mb4');
      return true;
    } catch {
      return false;
    } finally {
      await sql.close();
    }
  });
  return {
    url: `${base}/gate`,
    async stop() {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}

const quiet = { stdout: 'ignore', stderr: 'ignore' } as const;
