import { Anchor, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { BalanceAlert } from '../../api/types.ts';
import { useApiQuery } from '../../session/use-api.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { Page } from '../../ui/page/page.tsx';
import { SettingsBlock } from '../../ui/page/section.tsx';
import { BrowserNoticeSwitch } from './browser-notices.tsx';
import { LowBalance } from './low-balance.tsx';

/** What the user hears of, and how. */
export function NotificationsPage() {
  const { t } = useTranslation();
  const alert = useApiQuery<BalanceAlert>('/api/user/self/balance-alert');
  return (
    <Page heading={t('nav.notifications')} intro={t('notifications.intro')}>
      <div>
        <SettingsBlock heading={t('notifications.browser')} intro={t('notifications.browserIntro')}>
          <BrowserNoticeSwitch />
        </SettingsBlock>
        <QueryResult query={alert}>{(loaded) => <LowBalance alert={loaded} />}</QueryResult>
        <SettingsBlock heading={t('keys.webhook')}>
          <Text size="sm" lh={1.6}>
            {t('profile.webhooks')}{' '}
            <Anchor component={Link} to="/keys" inherit underline="always">
              {t('nav.keys')}
            </Anchor>
          </Text>
        </SettingsBlock>
      </div>
    </Page>
  );
}
