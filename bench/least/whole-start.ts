/**
 * The least executable with the parts of a start that no gateway can leave out: the framework, a
 * new database of the gateway's layout on the disk, and a sandbox process. Its arguments are a port
 * and a folder.
 */
import { join } from 'node:path';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';

const argv = process.argv.slice(2);

async function serve(port: string, folder: string): Promise<void> {
  const [{ readConfig }, { sandboxCommand, sandboxLimits }, { createSandbox }] = await Promise.all([
    import('../../src/app/config/config.ts'),
    import('../../src/app/config/sandbox-settings.ts'),
    import('../../src/sandbox/index.ts'),
  ]);
  const read = readConfig({});
  if (!read.ok) throw new Error(read.faults.join('\n'));
  const common = { clock: systemClock, logger: silentLogger };
  createSandbox({ limits: sandboxLimits(read.config), command: sandboxCommand(), ...common });
  const { openStore } = await import('../../src/store/index.ts');
  const opening = openStore({
    ...common,
    databaseUrl: '',
    dataDir: join(folder, 'data'),
    synchronous: 'FULL',
    exclusive: true,
  });
  const { Elysia } = await import('elysia');
  const store = await opening;
  new Elysia()
    .get('/', async () => ({ success: true, data: await store.options.all() }))
    .listen({ hostname: '127.0.0.1', port });
}

if (argv[0] === '__sandbox') {
  void import('../../src/sandbox/child/run-child.ts').then((child) => child.runSandboxChild());
} else {
  const [port = '', folder = ''] = argv.slice(-2);
  void serve(port, folder);
}
