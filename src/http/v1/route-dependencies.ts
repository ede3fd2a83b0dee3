import type { ApiPrincipal, Auth, DecidingIp } from '../../auth/index.ts';
import type { Clock } from '../../kernel/index.ts';
import type { Relay } from '../../relay/index.ts';
import type { Reports } from '../../reports/index.ts';
import type { Results } from '../../results/index.ts';
import type { Surfaces } from '../../surfaces/index.ts';
import type { Caller, Tasks } from '../../tasks/index.ts';
import type { FileStorage, UploadFolder } from '../bodies/upload-folder.ts';

/** The owner of an API key, as the task engine bills and limits them. */
export const toCaller = (api: ApiPrincipal): Caller => ({
  user: api.user,
  key: api.key,
  walletId: api.key.walletId,
  group: api.group,
});

/** Storage for files of the key's owner. */
export const fileStorage = (
  { uploads, maxFileBytes }: Pick<V1Deps, 'uploads' | 'maxFileBytes'>,
  { user }: ApiPrincipal,
): FileStorage => ({ uploads: uploads.of(user.id), maxFileBytes });

/** What models cost and how long they take. */
export type PriceFacts = {
  reports: Reports;
  /** What a group pays, times the price. */
  groupRatio: (group: string) => number;
  clock: Pick<Clock, 'unix' | 'monotonicMs' | 'sleep'>;
};

/** What every route for API clients needs. */
export type V1Deps = {
  tasks: Tasks;
  surfaces: Surfaces;
  results: Results;
  relay: Relay;
  prices: PriceFacts;
  uploads: UploadFolder;
  /** The largest file in a body. */
  maxFileBytes: number;
  /** Throws when the key's own lists exclude the model or the address. */
  assertKeyAllows: (request: { key: ApiPrincipal['key']; model: string; ip: DecidingIp }) => void;
  /** Ends a stream when its user or key may no longer read it. */
  watchAccess: Auth['watchAccess'];
  /** Milliseconds between two keep-alive comments of a stream. */
  heartbeatMs: number;
};
