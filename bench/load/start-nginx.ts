import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../test/support/free-port.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { until } from '../../test/support/until.ts';
import type { Script } from './start-script.ts';

/**
 * Debian's nginx with one worker, which a gateway of one process is compared with, serving `root`.
 * Undefined where it is not installed.
 */
export async function startNginx(root: string): Promise<Script | undefined> {
  const program = Bun.which('nginx');
  if (program === null) return undefined;
  const folder = temporaryFolder();
  const port = await freePort();
  const config = join(folder, 'nginx.conf');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join(' ');
  // The user: as root, the worker would otherwise be one that may not read the files.
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  writeFileSync(
    config,
    `${user} worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log; events { worker_connections 1024; }
    http { sendfile on; tcp_nopush on; keepalive_requests 1000000000; ${temporary} access_log ${folder}/access.log;
    server { listen 127.0.0.1:${port}; root ${root}; } }`,
  );
  const child = Bun.spawn([program, '-c', config, '-p', folder, '-g', 'daemon off;'], { stdin: 'ignore' });
  const url = `http://127.0.0.1:${port}`;
  await until('nginx serves', async () => {
    if (child.exitCode !== null) throw new Error(`nginx ended with ${child.exitCode}`);
    return (await fetch(url).catch(() => undefined)) !== undefined;
  });
  return {
    port,
    pid: child.pid,
    url,
    async stop() {
      child.kill();
      await child.exited;
    },
  };
}
