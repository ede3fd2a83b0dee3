import type { PresentedKey } from '../../store/ports/index.ts';
import { isInRanges, readRange } from '../../upstream/index.ts';
import { authErrors } from '../errors.ts';
import type { DecidingIp } from '../principals.ts';

/**
 * The models and addresses that a key may use; an empty list allows all. `model` is the name that
 * the client sent, if the request names one. Each route of `http/v1` that takes a model calls it.
 *
 * @throws `auth.api_key_ip_not_allowed` or `auth.api_key_model_not_allowed`
 */
export function assertKeyAllows({ key, model, ip }: { key: PresentedKey; model?: string; ip: DecidingIp }): void {
  if (key.allowIps.length > 0 && !key.allowIps.some((range) => contains(range, ip))) {
    throw authErrors.api_key_ip_not_allowed();
  }
  if (model !== undefined && key.models.length > 0 && !key.models.includes(model)) {
    throw authErrors.api_key_model_not_allowed({ param: 'model' });
  }
}

/** Whether an address or CIDR range contains `ip`; false if either is malformed. */
function contains(range: string, ip: string): boolean {
  // A zone id (`fe80::1%eth0`) names a network interface, and is no part of the address.
  const cidr = readRange(range.replace(/%[^/]*/, ''));
  return cidr !== undefined && isInRanges(ip, [cidr]);
}
