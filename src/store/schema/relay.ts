import type { BillingSnapshot, RelayKind, RelayObjectKind, RelayPartKind, RelayStatus } from '../ports/index.ts';
import type { Kit } from './kits.ts';

/**
 * What type-1 channels pass on. Times are Unix seconds where the property's name does not end in
 * `Ms`.
 */
export const defineRelay = (kit: Kit) => ({
  relayRequests: kit.table('relay_requests', {
    id: kit.id(),
    relayId: kit.varchar('relay_id', 64).notNull(),
    kind: kit.text('kind').$type<RelayKind>().notNull(),
    userId: kit.big('user_id').notNull(),
    apiKeyId: kit.big('api_key_id'),
    group: kit.text('group').notNull(),
    channelId: kit.big('channel_id').notNull(),
    model: kit.text('model').notNull(),
    status: kit.text('status').$type<RelayStatus>().notNull(),
    quota: kit.big('quota').notNull(),
    billing: kit.json<BillingSnapshot>('billing').notNull(),
    requestId: kit.text('request_id').notNull(),
    httpStatus: kit.int('http_status').notNull().default(0),
    leaseOwner: kit.text('lease_owner').notNull(),
    leaseUntilMs: kit.big('lease_until').notNull(),
    createdAt: kit.big('created_at').notNull(),
    finishedAt: kit.big('finished_at').notNull().default(0),
  }),

  relayObjects: kit.table('relay_objects', {
    id: kit.id(),
    /** The vendor's id; for a long one its digest, so that it fits into an index. */
    objectId: kit.text('object_id').notNull(),
    /** The id behind a digest. */
    fullId: kit.text('full_id').notNull().default(''),
    kind: kit.text('kind').$type<RelayObjectKind | RelayPartKind>().notNull(),
    vendor: kit.text('vendor').notNull(),
    userId: kit.big('user_id').notNull(),
    channelId: kit.big('channel_id').notNull(),
    relayId: kit.varchar('relay_id', 64).notNull(),
    createdAt: kit.big('created_at').notNull(),
  }),
});
