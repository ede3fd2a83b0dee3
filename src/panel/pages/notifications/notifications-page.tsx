import { useTranslation } from 'react-i18next';
import type { BalanceAlert } from '../../api/types.ts';
import { useApiQuery } from '../../session/use-api.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { Page } from '../../ui/page/page.tsx';
import { balanceAlertPath } from './low-balance-note.tsx';
import { NotificationMatrix } from './notification-matrix.tsx';

/** What the user learns of, and how. */
export function NotificationsPage() {
  const { t } = useTranslation();
  const alert = useApiQuery<BalanceAlert>(balanceAlertPath);
  return (
    <Page heading={t('nav.notifications')} intro={t('notifications.intro')}>
      <QueryResult query={alert}>{(loaded) => <NotificationMatrix alert={loaded} />}</QueryResult>
    </Page>
  );
}
