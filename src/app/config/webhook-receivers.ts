import { err, ok } from '../../kernel/index.ts';
import type { AllowedReceivers } from '../../notifications/index.ts';
import { checkAddress, readRange } from '../../upstream/index.ts';
import type { ValueKind } from './config-kinds.ts';

/** Labels of letters, digits and hyphens, of any script. */
const NAME = /^(?=.{1,253}$)[\p{L}\p{N}](?:[\p{L}\p{N}.-]*[\p{L}\p{N}])?$/u;

/** Hosts that may receive webhooks at private addresses: names as URLs hold them, and CIDRs. */
export const webhookReceivers: ValueKind<AllowedReceivers> = {
  type: 'host list',
  allowed:
    'comma-separated host names, IP addresses and CIDRs, without scheme and port (hooks.lan, 192.168.1.7, 10.0.0.0/8)',
  parse(value) {
    const names = new Set<string>();
    const ranges = new Set<string>();
    for (const item of value.split(',').map((part) => part.trim())) {
      if (item === '') return err('an entry is empty');
      const range = readRange(item);
      if (range !== undefined) {
        const [address = ''] = range.split('/');
        if (checkAddress(address) === 'forbidden')
          return err(`"${item}" is a link-local, metadata or reserved range, which is never called`);
        ranges.add(range);
        continue;
      }
      const name = readName(item);
      if (name === undefined) return err(`"${item}" is not a host name, an address or a CIDR`);
      names.add(name);
    }
    return ok({ names: [...names], ranges: [...ranges] });
  },
};

/** A name as a URL holds it; undefined for what a URL takes for an address ("127.1"). */
function readName(text: string): string | undefined {
  if (!NAME.test(text) || !URL.canParse(`https://${text}`)) return undefined;
  const { hostname } = new URL(`https://${text}`);
  return /^[\d.]+$/.test(hostname) ? undefined : hostname;
}
