import { randomToken, systemClock } from '../../../kernel/index.ts';
import { toKeyPattern } from '../../../plugins/index.ts';
import { createDemoVendor } from '../../demo-vendor/index.ts';
import { askSecret } from '../ask-secret.ts';
import { type CommandInput, option, UsageError } from '../command.ts';

export type Vendor = { baseUrl: string; key: string; isDemo: boolean; stop(): Promise<void> };

/**
 * The vendor that `--base-url` names, with a key from standard input or the terminal; else the demo
 * vendor in this process. `formats`: how the vendor's keys look.
 */
export async function openVendor(input: CommandInput, command: string, formats: string[] = []): Promise<Vendor> {
  const baseUrl = option(input, 'base-url');
  const fromStdin = input.values['key-stdin'] === true;
  if (baseUrl === undefined) {
    if (fromStdin) throw new UsageError('--key-stdin needs --base-url', command);
    const key = randomToken(16);
    const vendor = await createDemoVendor({ clock: systemClock, key }).start(0);
    return { baseUrl: vendor.url, key, isDemo: true, stop: vendor.stop };
  }
  if (!/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? ''))
    throw new UsageError(
      `--base-url: read "${baseUrl}"; allowed: an address that begins with http:// or https://`,
      command,
    );
  const looks = formats.join(' or ');
  const typed = fromStdin
    ? await input.io.readStdin()
    : await askSecret(`Key of the vendor at ${baseUrl}${looks && ` (${looks})`}: `);
  const key = typed?.replace(/\r?\n$/, '');
  if (!key)
    throw new UsageError('the key of the vendor is missing: give it on standard input with --key-stdin', command);
  if (!new RegExp(toKeyPattern(formats)).test(key.trim()))
    input.io.err(`note: the key does not look like one of this vendor: ${looks}\n`);
  return { baseUrl, key, isDemo: false, stop: async () => {} };
}
