import type { PanelPrincipal } from '../../../auth/index.ts';
import type { Caller } from '../../../tasks/index.ts';

/** The user pays from the account itself: there is no API key with a budget or lists. */
export const toPanelCaller = ({ user }: PanelPrincipal): Caller => ({
  user,
  key: null,
  walletId: user.walletId,
  group: user.group,
});
