// node scripts/run.mjs TASK [arguments]: installs what is stale, then runs scripts/TASK.ts on Bun.
import { join } from 'node:path';
import { findBun, installDependencies, root, runToEnd } from './toolchain.mjs';

const [task, ...args] = process.argv.slice(2);
installDependencies();
process.exitCode = await runToEnd(findBun(), [join(root, 'scripts', `${task}.ts`), ...args]);
