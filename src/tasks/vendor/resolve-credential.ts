import { isObject, secretsOfKey, secretsOfRequest } from '../../kernel/index.ts';
import type { Manifest } from '../../plugins/index.ts';
import type { ChannelRecord } from '../../store/ports/index.ts';
import type { CredentialContext, TaskDeps } from '../types.ts';

export type Credential = {
  context: CredentialContext;
  /**
   * Replaced in every text that plugin or vendor give back: the key, what is commonly made of it,
   * and what was learnt.
   */
  secrets: string[];
  /**
   * Those among them that are replaced in stored answers too: hooks read these again, so that
   * nothing is there that may be an id.
   */
  certainSecrets: string[];
  /** Adds the credentials of a request that a plugin has described with this credential. */
  learn(described: unknown): void;
  /** The vendor answered 401. */
  refused(): void;
};

/** `vertex_oauth` is what new-api called it first. */
const SERVICE_ACCOUNT_TYPES: ReadonlySet<unknown> = new Set(['oauth2_jwt', 'vertex_oauth']);

const needsServiceAccount = ({ auth }: Manifest): boolean =>
  SERVICE_ACCOUNT_TYPES.has(isObject(auth) ? auth.type : auth);

function keepSecrets(own: readonly string[]): Pick<Credential, 'secrets' | 'certainSecrets' | 'learn'> {
  const secrets = own.flatMap((key) => secretsOfKey(key));
  const certainSecrets = own.flatMap((key) => secretsOfKey(key, { certain: true }));
  return {
    secrets,
    certainSecrets,
    learn(described) {
      secrets.push(...secretsOfRequest(described));
      certainSecrets.push(...secretsOfRequest(described, { certain: true }));
    },
  };
}

/**
 * The channel's credential as hooks see it: the raw key without "Bearer" (plugins write the scheme
 * themselves), or, for a service account, a token and the project and never the key. Where no token
 * is to be had, `authError` says why. Throws `channels.key_unreadable`.
 */
export async function resolveCredential(
  deps: TaskDeps,
  manifest: Manifest,
  channel: ChannelRecord,
): Promise<Credential> {
  if (!needsServiceAccount(manifest)) return localCredential(deps, manifest, channel);
  const key = deps.channels.credential(channel);
  const answer = await deps.serviceAccounts.get(key, channel.baseUrl);
  const refused = () => deps.serviceAccounts.refused(key, channel.baseUrl);
  if (!answer.ok) {
    return { context: { auth: {}, authHeader: '', authError: answer.error }, ...keepSecrets([key]), refused };
  }
  const { token, projectId } = answer.value;
  const authHeader = `Bearer ${token}`;
  return { context: { auth: { authHeader, projectId }, authHeader }, ...keepSecrets([key, token]), refused };
}

/**
 * The same without asking anybody: where a token would be fetched, a word stands in its place that
 * no vendor takes.
 */
export function localCredential(
  { channels }: Pick<TaskDeps, 'channels'>,
  manifest: Manifest,
  channel: ChannelRecord,
): Credential {
  const key = channels.credential(channel);
  const account = needsServiceAccount(manifest);
  const authHeader = account ? 'Bearer none' : key;
  return {
    context: account
      ? { auth: { authHeader, projectId: 'none' }, authHeader }
      : { auth: { authHeader }, authHeader, apiKey: key },
    ...keepSecrets([key]),
    refused: () => {},
  };
}
