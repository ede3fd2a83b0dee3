import type { AccountRow, ApiKey, Channel } from './types.ts';

/** `status` of an account. */
export const accountStatus = { enabled: 1, disabled: 2 } as const satisfies Record<string, AccountRow['status']>;

/** `status` of a channel. */
export const channelStatus = { enabled: 1, disabled: 2 } as const satisfies Record<string, Channel['status']>;

/** `status` of an API key. Clients set the first two; the gateway derives the others. */
export const keyStatus = { active: 1, disabled: 2, expired: 3, spent: 4 } as const satisfies Record<
  string,
  ApiKey['status']
>;
