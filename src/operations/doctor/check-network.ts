import { credentialPool, openNetwork } from '../../channels/index.ts';
import { type Clock, OperatorError, type SecretBox } from '../../kernel/index.ts';
import {
  type CapacityRecord,
  type ChannelRecord,
  type CredentialRecord,
  STATUS,
  type Store,
} from '../../store/ports/index.ts';
import type { Upstream } from '../../upstream/index.ts';
import { createSendToVendor, plainRequest, traceNetwork } from '../../vendors/index.ts';
import type { Finding } from './doctor-checks.ts';

type Deps = {
  store: Pick<Store, 'channels' | 'credentials' | 'capacity'>;
  secretBox: SecretBox;
  upstream: Upstream;
  clock: Clock;
};

/**
 * Goes the way to the vendors of all enabled channels, or of one, without any key: name, address,
 * proxy, TLS, first byte. A vendor that answers is reached, whatever its status. Where a channel
 * has several keys it also says of each how it does.
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
  const rests = await deps.store.capacity.all();
  for (const channel of channels) {
    findings.push(...(await checkChannel(deps, channel)));
    const credentials = (await deps.store.credentials.ofChannel(channel.id)).filter(({ removedAt }) => removedAt === 0);
    if (credentials.length > 1)
      findings.push(...credentials.map((credential) => checkKey(deps, { channel, credential, rests })));
  }
  return findings;
}

const toFinding = ({ id, name }: ChannelRecord, level: Finding['level'], message: string): Finding => ({
  check: 'network',
  level,
  message: `channel ${id} (${name}): ${message}`,
});

type Key = { channel: ChannelRecord; credential: CredentialRecord; rests: readonly CapacityRecord[] };

/** Reports what the database knows about a key. All keys of a channel use the same network. */
function checkKey({ secretBox, clock }: Deps, { channel, credential, rests }: Key): Finding {
  const { id, label, keyHint, keySealed, status, expiresAt, lastErrorAt, lastError } = credential;
  const name = `key ${label || (keyHint === '' ? id : `…${keyHint}`)}`;
  const pool = credentialPool({ channelId: channel.id, credentialId: id });
  const rest = rests.find((one) => one.pool === pool && one.restReason !== '');
  const refused = lastErrorAt === 0 ? '' : `; the vendor refused it ${formatTime(lastErrorAt)}: ${lastError}`;
  if (secretBox.open(keySealed) === undefined)
    return toFinding(channel, 'error', `${name}: no CRYPTO_SECRET decrypts it: enter it again`);
  if (status !== STATUS.enabled) return toFinding(channel, 'ok', `${name}: disabled`);
  if (expiresAt > 0 && expiresAt <= clock.unix())
    return toFinding(channel, 'warning', `${name}: it ended ${formatTime(expiresAt)}: enter a new one`);
  if (!rest) return toFinding(channel, 'ok', `${name}: takes tasks${refused}`);
  const seconds = Math.ceil(rest.restingForMs / 1000);
  const until = seconds > 0 ? `for ${seconds} s` : 'until its next task tries it';
  return toFinding(
    channel,
    'warning',
    `${name}: rests ${until} (${rest.restReason}, ${rest.restStep} in a row)${refused}`,
  );
}

const formatTime = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 19).concat('Z');

async function checkChannel({ secretBox, upstream, clock }: Deps, channel: ChannelRecord): Promise<Finding[]> {
  const network = openNetwork(secretBox, channel);
  if (!network) return [toFinding(channel, 'error', 'its proxy or headers cannot be read with this CRYPTO_SECRET')];
  // The address alone is tried, so nothing that is secret is sent.
  const send = createSendToVendor({ upstream, channels: { network: () => ({ ...network, headers: {} }) } });
  const { steps, answer } = await traceNetwork({ send, clock }, channel, plainRequest(channel, channel.baseUrl));
  answer?.response.discard();
  return steps.map(({ name, ok, message }) =>
    toFinding(channel, ok || name === 'answer' ? 'ok' : 'error', `${name}: ${message}`),
  );
}
