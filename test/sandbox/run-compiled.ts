/** A program in one file that is its own sandbox child, as the gateway is. */
if (process.argv.includes('__sandbox')) {
  void import('../../src/sandbox/child/run-child.ts').then((child) => child.runSandboxChild());
} else {
  void main();
}

async function main(): Promise<void> {
  const { createSandbox } = await import('../../src/sandbox/index.ts');
  const { sha256Hex, silentLogger, systemClock } = await import('../../src/kernel/index.ts');
  const { defaultLimits } = await import('./start-sandbox.ts');
  const sandbox = createSandbox({
    limits: defaultLimits,
    command: [process.execPath, '__sandbox'],
    clock: systemClock,
    logger: silentLogger,
  });
  const source = "export function sum(a, b) { return { sum: a + b, sign: utils.hmacSHA256('a', 'b') } }";
  const outcome = await sandbox.call(
    { key: 'p', version: '1.0.0', source, sourceHash: sha256Hex(source) },
    { owner: 'user:1', path: ['sum'], args: [40, 2], maxArgsBytes: 1_000, maxResultBytes: 1_000 },
  );
  process.stdout.write(`${JSON.stringify(outcome.ok ? outcome.value.value : outcome.error)}\n`);
  await sandbox.close();
}
