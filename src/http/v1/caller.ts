import type { ApiPrincipal } from '../../auth/index.ts';
import type { Caller } from '../../tasks/index.ts';
import type { FileStorage } from '../bodies/upload-folder.ts';
import type { V1Deps } from './types.ts';

/** The owner of an API key, as the task engine bills and limits them. */
export const callerOf = (api: ApiPrincipal): Caller => ({ user: api.user, key: api.key, group: api.group });

/** Storage for files of the key's owner. */
export const fileStorage = (
  { uploads, maxFileBytes }: Pick<V1Deps, 'uploads' | 'maxFileBytes'>,
  { user }: ApiPrincipal,
): FileStorage => ({ uploads: uploads.of(user.id), maxFileBytes });
