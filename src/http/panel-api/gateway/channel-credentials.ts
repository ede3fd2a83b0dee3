import { Elysia, t } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import {
  type CapacityService,
  type Channels,
  type CredentialChange,
  type CredentialInput,
  channelErrors,
  type VendorAccount,
} from '../../../channels/index.ts';
import { readProof } from '../../pipeline/access-levels.ts';
import { readId } from '../../pipeline/paging.ts';
import { integerSchema, type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import type { RecordAudit } from '../record-audit.ts';
import { describeLimits } from './channel-capacity.ts';

const KEY = t.String({ maxLength: 32 * 1024, description: "The vendor's credential." });
const optional = {
  label: t.Optional(t.String({ maxLength: 200, description: 'A label for administrators.' })),
  expires_at: t.Optional(
    integerSchema({
      minimum: 0,
      maximum: 4_102_444_800,
      description: 'Unix seconds: from then on, no new tasks start with it. 0: never.',
    }),
  ),
  pool: t.Optional(
    t.String({
      maxLength: 200,
      description: 'Credentials and channels with the same name here share one limit. Empty: that of its channel.',
    }),
  ),
  status: t.Optional(t.Union([t.Literal(1), t.Literal(2)], { description: '1 enabled, 2 disabled.' })),
};

/** The keys of a new channel, or more keys of one. */
export const credentialsBody = t.Array(strictObject({ key: KEY, ...optional }), { minItems: 1, maxItems: 1000 });

type CredentialBody = (typeof credentialsBody.static)[number];

export const readCredential = ({
  key,
  label,
  expires_at: expiresAt,
  pool,
  status,
}: CredentialBody): CredentialInput => ({
  ...{ key, label, expiresAt, pool, status },
});

type Credential = VendorAccount['credential'];

const describeCredential = (credential: Credential) => ({
  id: credential.id,
  label: credential.label,
  key_hint: credential.keyHint,
  pool: credential.pool,
  status: credential.status,
  expires_at: credential.expiresAt,
  last_error: credential.lastError,
  last_error_sentence: credential.lastErrorSentence,
  last_error_at: credential.lastErrorAt,
  created_at: credential.createdAt,
  updated_at: credential.updatedAt,
});

/** What the vendor reports about an account. `fault`: why the last try to read it failed. */
export const describeReported = ({
  balanceMicros,
  balanceAt,
  balanceFault,
  reportedLimits,
  reportedLimitsFault,
}: Credential) => ({
  balance: {
    usd: balanceMicros === null ? null : balanceMicros / 1_000_000,
    read_at: balanceAt,
    fault: balanceFault,
  },
  told_limits: reportedLimits === null ? null : describeLimits(reportedLimits),
  told_limits_fault: reportedLimitsFault,
});

/**
 * `running`: the slots that its tasks take. `account`: undefined where this node has not read it
 * yet.
 */
export const showCredential = (
  { channels, capacity }: { channels: Channels; capacity: CapacityService },
  credential: Credential,
  account: VendorAccount | undefined,
) => ({
  ...describeCredential(credential),
  used_quota: credential.usedQuota,
  ...describeReported(credential),
  key_readable: account !== undefined && channels.isReadable(account),
  running: account ? capacity.running(account) : 0,
});

/** The keys of a channel: accounts of one vendor, or several keys of one account. */
export function channelCredentialRoutes(
  kit: Kit,
  deps: { auth: Auth; channels: Channels; capacity: CapacityService; audit: RecordAudit },
) {
  const { auth, channels, capacity, audit } = deps;
  const { credentials } = channels;

  const show = (channelId: number, credential: Credential) => {
    const account = channels.accounts({ id: channelId }).find((one) => one.credential.id === credential.id);
    return showCredential({ channels, capacity }, credential, account);
  };
  const params = { list: '/api/channel/:id/credentials', one: '/api/channel/:id/credentials/:credential' } as const;

  return new Elysia({ normalize: false, tags: ['Channels'] })
    .use(kit)
    .get(
      params.list,
      async ({ params: { id } }) => {
        const channelId = readId(id);
        return ok((await credentials.list(channelId)).map((credential) => show(channelId, credential)));
      },
      {
        admin: true,
        detail: {
          summary: "List a channel's credentials, without their keys",
          description:
            'running: the slots that its tasks take. used_quota: the quota paid for what it served, as of the last look. last_error: why the vendor refused it last.',
        },
      },
    )
    .post(
      params.list,
      async ({ params: { id }, body, panel, origin }) => {
        const channelId = readId(id);
        const added = await credentials.add(channelId, body.credentials.map(readCredential));
        await audit(
          { panel, origin },
          {
            action: 'channel.credential_add',
            target: `channel:${channelId}`,
            detail: { after: added.map(describeCredential) },
          },
        );
        return ok(added.map((credential) => show(channelId, credential)));
      },
      {
        admin: true,
        bodyLimit: 'configuration',
        body: strictObject({ credentials: credentialsBody }),
        detail: { summary: 'Add credentials to a channel' },
      },
    )
    .put(
      params.one,
      async ({ params: { id, credential }, body, panel, origin }) => {
        const channelId = readId(id);
        const { key, label, expires_at: expiresAt, pool, status } = body;
        const change: CredentialChange = { key, label, expiresAt, pool, status };
        const { before, after } = await credentials.update(channelId, readId(credential), change);
        // What the vendor said of the former key says nothing about this one.
        if (key !== undefined) await capacity.wake(await channels.get(channelId), 'account');
        await audit(
          { panel, origin },
          {
            action: 'channel.credential_update',
            target: `channel:${channelId}`,
            detail: {
              before: describeCredential(before),
              after: describeCredential(after),
              key_changed: key !== undefined,
            },
          },
        );
        return ok(show(channelId, after));
      },
      {
        admin: true,
        bodyLimit: 'configuration',
        body: strictObject({ key: t.Optional(KEY), ...optional }),
        detail: {
          summary: 'Update a credential',
          description: 'A new key replaces the previous one, also for running tasks.',
        },
      },
    )
    .delete(
      params.one,
      async ({ params: { id, credential }, panel, origin }) => {
        const channelId = readId(id);
        const before = await credentials.remove(channelId, readId(credential));
        const detail = { before: describeCredential(before) };
        const target = `channel:${channelId}`;
        await audit({ panel, origin }, { action: 'channel.credential_remove', target, detail });
        return ok(null);
      },
      {
        admin: true,
        detail: {
          summary: 'Remove a credential from a channel',
          description: 'No new tasks start with it. It stays stored, encrypted, for the tasks that it started.',
        },
      },
    )
    .post(
      '/api/channel/:id/credentials/:credential/key',
      async ({ params: { id, credential }, panel, origin, request }) => {
        await auth.proofs.require(panel, readProof(request), 'channel.key.read');
        const channel = await channels.get(readId(id));
        const wanted = readId(credential);
        const account = channels.accounts(channel).find((one) => one.credential.id === wanted);
        if (!account) throw channelErrors.credential_not_found();
        const key = channels.key(account);
        const detail = { credential: wanted };
        await audit({ panel, origin }, { action: 'channel.key_view', target: `channel:${channel.id}`, detail });
        return ok({ key });
      },
      {
        root: true,
        critical: true,
        perUser: 'channel-key',
        documentsProof: { scope: 'channel.key.read' },
        detail: { summary: "Get a credential's key" },
      },
    );
}
