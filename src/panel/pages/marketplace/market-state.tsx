import { useTranslation } from 'react-i18next';
import type { MarketplacePlugin } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { StatusLabel, type Tone } from '../../ui/display/status-label.tsx';

const states: Record<MarketplacePlugin['state'], { text: TextKey; tone: Tone }> = {
  not_installed: { text: 'market.state.not_installed', tone: 'quiet' },
  up_to_date: { text: 'market.state.up_to_date', tone: 'good' },
  upgradable: { text: 'market.state.upgradable', tone: 'waiting' },
  diverged: { text: 'market.state.diverged', tone: 'bad' },
};

export function MarketState({ state }: { state: MarketplacePlugin['state'] }) {
  const { t } = useTranslation();
  return <StatusLabel tone={states[state].tone}>{t(states[state].text)}</StatusLabel>;
}
