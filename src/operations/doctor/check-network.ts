import { openNetwork } from '../../channels/index.ts';
import { type Clock, OperatorError, type SecretBox } from '../../kernel/index.ts';
import { type ChannelRecord, STATUS, type Store } from '../../store/ports/index.ts';
import type { Upstream } from '../../upstream/index.ts';
import { createSendToVendor, plainRequest, traceNetwork } from '../../vendors/index.ts';
import type { Finding } from './doctor-checks.ts';

type Deps = { store: Pick<Store, 'channels'>; secretBox: SecretBox; upstream: Upstream; clock: Clock };

/**
 * Goes the way to the vendors of all enabled channels, or of one, without any key: name, address,
 * proxy, TLS, first byte. A vendor that answers is reached, whatever its status.
 */
export async function checkNetwork(deps: Deps, id: string | undefined): Promise<Finding[]> {
  const all = await deps.store.channels.all();
  const channels = all.filter(({ id: own, status }) =>
    id === undefined ? status === STATUS.enabled : String(own) === id,
  );
  if (channels.length === 0) {
    if (id !== undefined) throw new OperatorError(`there is no channel ${id}`);
    return [{ check: 'network', level: 'ok', message: 'no channel is enabled, so there is no vendor to reach' }];
  }
  const findings: Finding[] = [];
  for (const channel of channels) findings.push(...(await checkChannel(deps, channel)));
  return findings;
}

async function checkChannel({ secretBox, upstream, clock }: Deps, channel: ChannelRecord): Promise<Finding[]> {
  const say = (level: Finding['level'], message: string): Finding => ({
    check: 'network',
    level,
    message: `channel ${channel.id} (${channel.name}): ${message}`,
  });
  const network = openNetwork(secretBox, channel);
  if (!network) return [say('error', 'its proxy or headers cannot be read with this CRYPTO_SECRET')];
  // The address alone is tried, so nothing that is secret is sent.
  const send = createSendToVendor({ upstream, channels: { network: () => ({ ...network, headers: {} }) } });
  const { steps, answer } = await traceNetwork({ send, clock }, channel, plainRequest(channel, channel.baseUrl));
  answer?.response.discard();
  return steps.map(({ name, ok, message }) => say(ok || name === 'answer' ? 'ok' : 'error', `${name}: ${message}`));
}
