import type { Channels, VendorAccount } from '../channels/index.ts';
import {
  createWholeRedactor,
  isObject,
  listKeySecrets,
  listRequestSecrets,
  type Redactor,
  type Sentence,
  toSentence,
} from '../kernel/index.ts';
import type { Manifest } from '../plugins/index.ts';
import { type ChannelRecord, GATEWAY_TYPE } from '../store/ports/index.ts';
import type { CredentialContext, FindKeySecrets, KeySecrets, VendorDeps } from './types.ts';

export type Credential = {
  context: CredentialContext;
  /** Why a service account got no token. */
  failure?: Sentence;
  /**
   * Redacted in every text from plugin or vendor: the key, common encodings of it, and the
   * credentials in the requests that were passed to `addSecretsFrom`.
   */
  secrets: () => readonly string[];
  /**
   * The subset that is redacted in stored answers too. Hooks read these answers again, so it
   * contains nothing that could be an id.
   */
  certainSecrets: () => readonly string[];
  /** Replaces `certainSecrets` in whole texts. */
  redactCertain: Redactor;
  /** Adds the credentials in a request that a plugin described with this credential. */
  addSecretsFrom(described: unknown): void;
  /** Call it when the vendor answers 401. */
  onUnauthorized(): void;
};

/** `vertex_oauth` is the name that new-api used first. */
const SERVICE_ACCOUNT_TYPES: ReadonlySet<unknown> = new Set(['oauth2_jwt', 'vertex_oauth']);

const needsServiceAccount = ({ auth }: Manifest, { type }: ChannelRecord): boolean =>
  type !== GATEWAY_TYPE && SERVICE_ACCOUNT_TYPES.has(isObject(auth) ? auth.type : auth);

type CollectedSecrets = Pick<Credential, 'secrets' | 'certainSecrets' | 'redactCertain' | 'addSecretsFrom'>;

/**
 * Requests are only searched for credentials once there is something to redact. Most carry nothing
 * but the channel's key, whose redactor then serves.
 */
function collectSecrets(own: KeySecrets): CollectedSecrets {
  const requests: unknown[] = [];
  let redactor: Redactor | undefined;
  const certainSecrets = () => [
    ...own.certain,
    ...requests.flatMap((described) => listRequestSecrets(described, { certain: true })),
  ];
  const chooseRedactor = (): Redactor => {
    const secrets = certainSecrets();
    return secrets.every((secret) => own.certain.includes(secret)) ? own.redactCertain : createWholeRedactor(secrets);
  };
  return {
    secrets: () => [...own.all, ...requests.flatMap((described) => listRequestSecrets(described))],
    certainSecrets,
    redactCertain(text) {
      redactor ??= chooseRedactor();
      return redactor(text);
    },
    addSecretsFrom(described) {
      requests.push(described);
      redactor = undefined;
    },
  };
}

/**
 * A credential of a channel as hooks see it: the raw key without "Bearer" (plugins write the scheme
 * themselves), or, for a service account, a token and the project but never the key. Without a
 * token `authError` says why.
 * @throws channels.key_unreadable
 */
export async function resolveCredential(
  deps: VendorDeps,
  manifest: Manifest,
  account: VendorAccount,
): Promise<Credential> {
  if (!needsServiceAccount(manifest, account.channel)) return localCredential(deps, manifest, account);
  const { channel } = account;
  const key = deps.channels.key(account);
  const { proxy } = deps.channels.network(channel);
  const answer = await deps.serviceAccounts.get(key, channel.baseUrl, proxy);
  const onUnauthorized = () => deps.serviceAccounts.refused(key, channel.baseUrl);
  const own = deps.keySecrets(account);
  if (!answer.ok) {
    return {
      context: { auth: {}, authHeader: '', authError: answer.error.message },
      failure: toSentence(answer.error),
      ...collectSecrets(own),
      onUnauthorized,
    };
  }
  const { token, projectId } = answer.value;
  const authHeader = `Bearer ${token}`;
  const certain = [...own.certain, ...listKeySecrets(token, { certain: true })];
  const secrets = collectSecrets({
    all: [...own.all, ...listKeySecrets(token)],
    certain,
    redactCertain: createWholeRedactor(certain),
  });
  return { context: { auth: { authHeader, projectId }, authHeader }, ...secrets, onUnauthorized };
}

/** Resolves it without a request: a placeholder that no vendor accepts replaces the token. */
export function localCredential(
  { channels, keySecrets }: Pick<VendorDeps, 'channels' | 'keySecrets'>,
  manifest: Manifest,
  account: VendorAccount,
): Credential {
  const { channel } = account;
  const key = channels.key(account);
  const needsToken = needsServiceAccount(manifest, channel);
  // Another gateway takes its own keys as bearer tokens, whatever the vendor does.
  const authHeader = needsToken ? 'Bearer none' : channel.type === GATEWAY_TYPE ? `Bearer ${key}` : key;
  return {
    context: needsToken
      ? { auth: { authHeader, projectId: 'none' }, authHeader }
      : { auth: { authHeader }, authHeader, apiKey: key },
    ...collectSecrets(keySecrets(account)),
    onUnauthorized: () => {},
  };
}

export function createKeySecrets(channels: Pick<Channels, 'key' | 'secrets'>): FindKeySecrets {
  // By channel as the replica holds it: after a change of it or its keys it is another object.
  const known = new WeakMap<ChannelRecord, { texts: ReadonlySet<string>; secrets: KeySecrets }>();
  return (account) => {
    let entry = known.get(account.channel);
    if (!entry?.texts.has(channels.key(account))) {
      const texts = new Set(channels.secrets(account));
      const certain = [...texts].flatMap((text) => listKeySecrets(text, { certain: true }));
      const all = [...texts].flatMap((text) => listKeySecrets(text));
      entry = { texts, secrets: { all, certain, redactCertain: createWholeRedactor(certain) } };
      known.set(account.channel, entry);
    }
    return entry.secrets;
  };
}
