import { isObject } from '../kernel/index.ts';
import type { Manifest } from '../plugins/index.ts';
import type { ChannelRecord } from '../store/ports/index.ts';
import type { CredentialContext, TaskDeps } from './types.ts';

export type Credential = {
  context: CredentialContext;
  /** Replaced in every text that plugin or vendor give back. */
  secrets: string[];
  /** The vendor answered 401. */
  refused(): void;
};

/** `vertex_oauth` is what new-api called it first. */
const SERVICE_ACCOUNT_TYPES: ReadonlySet<unknown> = new Set(['oauth2_jwt', 'vertex_oauth']);

const needsServiceAccount = ({ auth }: Manifest): boolean =>
  SERVICE_ACCOUNT_TYPES.has(isObject(auth) ? auth.type : auth);

/**
 * The channel's credential as hooks see it: the raw key without "Bearer" (plugins write the scheme themselves), or, for a service account, a token
 * and the project and never the key. Where no token is to be had, `authError` says why. Throws `channels.key_unreadable`.
 */
export async function resolveCredential(
  deps: TaskDeps,
  manifest: Manifest,
  channel: ChannelRecord,
): Promise<Credential> {
  const key = deps.channels.credential(channel);
  if (!needsServiceAccount(manifest)) {
    return {
      context: { auth: { authHeader: key }, authHeader: key, apiKey: key },
      secrets: [key],
      refused: () => {},
    };
  }
  const answer = await deps.serviceAccounts.get(key, channel.baseUrl);
  const refused = () => deps.serviceAccounts.refused(key, channel.baseUrl);
  if (!answer.ok) return { context: { auth: {}, authHeader: '', authError: answer.error }, secrets: [key], refused };
  const { token, projectId } = answer.value;
  const authHeader = `Bearer ${token}`;
  return { context: { auth: { authHeader, projectId }, authHeader }, secrets: [key, token], refused };
}
