import type { Clock, Logger } from '../../kernel/index.ts';
import type { PinMarketKey } from '../../plugins/index.ts';
import { MARKET_SOURCES, repinSources, type SettingsService } from '../../settings/index.ts';
import type { Store } from '../../store/ports/index.ts';

const ACTIONS = { first_use: 'plugin.market_key_pin', hand_over: 'plugin.market_key_hand_over' } as const;

/**
 * Stores the keys of marketplaces that the gateway trusts by itself: the one of a first use, and
 * the next one after a signed hand-over. Each leaves an audit row without a person.
 */
export function createMarketPins(deps: {
  options: Pick<SettingsService, 'revise'>;
  store: Store;
  clock: Clock;
  logger: Logger;
}): PinMarketKey {
  const { options, store, clock, logger } = deps;
  return async ({ name, indexUrl, publicKey: from }, { text: to }, reason) => {
    const done = await options.revise(MARKET_SOURCES, (text) => repinSources(text, { indexUrl, from, to }));
    if (!done.ok || done.value === undefined) return false;
    const row = {
      ...{ userId: null, username: '', authMethod: 'gateway', ip: '' },
      action: ACTIONS[reason],
      target: `marketplace:${name}`,
      detail: { index_url: indexUrl, before: from ?? null, after: to },
      createdAt: clock.unix(),
    };
    await store.logs.addAudit(row).catch((error: unknown) => {
      logger.error({ err: error, audit: row }, 'audit row could not be stored; this line has its content');
    });
    return true;
  };
}
