import { OperatorError, systemClock } from '../../../kernel/index.ts';
import { integer } from '../../config/config-kinds.ts';
import { createDemoVendor, createStrictVendor, DEMO_VENDOR_PORT, STRICT_VENDOR_KEY } from '../../demo-vendor/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option, UsageError } from '../command.ts';

const PORT = integer(0, 65_535);

/** Runs the demo vendor, or the strict one, on loopback until SIGTERM or SIGINT. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const given = option(input, 'port') ?? String(DEMO_VENDOR_PORT);
  const port = PORT.parse(given);
  if (!port.ok) throw new UsageError(`--port: read "${given}"; allowed: ${PORT.allowed}`);
  const ended = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
  });
  const isStrict = input.values.strict === true;
  const vendor = await start(port.value, isStrict ? createStrictVendor : createDemoVendor);
  const text = isStrict
    ? `strict vendor at ${vendor.url}; its key is ${STRICT_VENDOR_KEY}`
    : `demo vendor at ${vendor.url}; any API key works`;
  answer(input, { ok: true, url: vendor.url, ...(isStrict ? { key: STRICT_VENDOR_KEY } : {}) }, text);
  await ended;
  await vendor.stop();
  return EXIT.ok;
}

async function start(port: number, create: typeof createDemoVendor | typeof createStrictVendor) {
  try {
    return await create({ clock: systemClock }).start(port);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
      throw new OperatorError(`port ${port} is in use: choose another with --port`);
    }
    throw error;
  }
}
