import { SegmentedControl, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { KeptStorage, UsageStats, User } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { Figures } from '../../ui/display/figures.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useFilters } from '../../ui/form/use-filters.ts';
import { Page } from '../../ui/page/page.tsx';
import { BillList } from './bill-list.tsx';
import { Spend } from './spend.tsx';

const periods = ['7', '30', '90'] as const;
const defaultPeriod = '30';

/** The account's spending: per day, per model and per bill. */
export function UsagePage() {
  const { t } = useTranslation();
  const filters = useFilters(['days']);
  const days = periods.find((period) => period === filters.values.days) ?? defaultPeriod;
  const figures = useApiQuery<UsageStats>(`/api/stats?days=${days}`);
  const self = useApiQuery<User>('/api/user/self');
  const storage = useApiQuery<KeptStorage>('/api/user/self/storage');
  return (
    <Page
      heading={t('nav.usage')}
      intro={t('usage.intro')}
      actions={
        <SegmentedControl
          aria-label={t('usage.period')}
          value={days}
          onChange={(value) => filters.set('days', value === defaultPeriod ? '' : value)}
          data={periods.map((value) => ({ value, label: t('usage.days', { days: value }) }))}
        />
      }
    >
      <QueryResult query={figures}>
        {(read) => (
          <>
            <Totals figures={read} user={self.data} />
            {storage.data && <KeptFiles storage={storage.data} />}
            <Spend figures={read} />
          </>
        )}
      </QueryResult>
      <BillList />
    </Page>
  );
}

function Totals({ figures: { totals }, user }: { figures: UsageStats; user: User | undefined }) {
  const { t } = useTranslation();
  const format = useFormat();
  return (
    <Figures
      label={t('home.figures')}
      figures={[
        { label: t('usage.spent'), value: format.money(totals.spend) },
        { label: t('usage.finished'), value: format.number(totals.succeeded) },
        { label: t('usage.failed'), value: format.number(totals.failed) },
        { label: t('home.balance'), value: user === undefined ? '…' : format.money(user.quota) },
      ]}
    />
  );
}

/** A GB of the quota has 10^9 bytes, so those of the files are counted alike. */
function KeptFiles({ storage: { is_offered: isOffered, files, bytes, quota_bytes: quota } }: { storage: KeptStorage }) {
  const { t, i18n } = useTranslation();
  if (!isOffered && files === 0) return null;
  const number = new Intl.NumberFormat(i18n.language, { maximumSignificantDigits: 3 });
  const gb = (count: number): string => `${number.format(count / 1e9)} GB`;
  return (
    <Text size="sm" c="dimmed" mt={12}>
      {quota === null ? t('usage.kept', { used: gb(bytes) }) : t('usage.keptOf', { used: gb(bytes), quota: gb(quota) })}
    </Text>
  );
}
