import type { SessionCache } from '../ports/index.ts';

/** For a gateway without a cache server: every check reads the database. */
export function createNoSessionCache(): SessionCache {
  return {
    enabled: false,
    get: async () => undefined,
    remember: async () => {},
    markRevoking: async () => {},
    writeTombstones: async () => {},
  };
}
