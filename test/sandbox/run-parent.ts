/** A parent that a test kills: starts a sandbox, perhaps an endless call, prints the child pids. */
import { hook, listChildren, plugin, readResult, startSandbox } from './start-sandbox.ts';

const sandbox = startSandbox({ callTimeoutMs: 60_000 });
const module = plugin(
  'export function id(x) { return x } export function stuck() { return new Array(2 ** 32 - 1).includes(1) }',
);
await readResult(sandbox, module, hook('id', [1]));
if (process.argv[2] === 'busy') void sandbox.call(module, hook('stuck'));
await Bun.sleep(200);
process.stdout.write(`${listChildren(process.pid).join()}\n`);
