// npm start: installs and builds what is stale, then serves. Arguments after `--` go to `taskgate
// serve`.
import { join } from 'node:path';
import { findBun, installDependencies, root, runToEnd } from './toolchain.mjs';

installDependencies();
// A checkout has data of its own.
process.env.DATA_DIR ||= './data';
const built = await runToEnd(findBun(), [join(root, 'scripts', 'build.ts')]);
process.exitCode =
  built === 0
    ? await runToEnd(join(root, 'dist', process.platform === 'win32' ? 'taskgate.exe' : 'taskgate'), [
        'serve',
        ...process.argv.slice(2),
      ])
    : built;
