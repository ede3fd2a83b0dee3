import type { TFunction } from 'i18next';
import type { MarketplaceSourceText } from '../../api/types.ts';

export type ContractNeed = MarketplaceSourceText['needs'][number];

/** What a plugin needs of a newer contract, in words. */
export const describeNeeds = (needs: readonly ContractNeed[], t: TFunction): string =>
  needs
    .map((need) =>
      need.code === 'api' ? t('plugins.need.api', { version: need.version }) : t(`plugins.need.${need.code}`),
    )
    .join(', ');
