import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { KeptStorage, UsageReport as Report, User } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { type Figure, Figures } from '../../ui/display/figures.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { LowBalanceNote } from '../notifications/low-balance-note.tsx';
import { BillList } from './bill-list.tsx';
import { UsageOverTime } from './usage-over-time.tsx';
import { UsageShares } from './usage-shares.tsx';
import type { UsageFilters } from './use-usage-filters.ts';

/** What the filters ask for: totals, over time, by what, and bill by bill. */
export function UsageReport({ filters }: { filters: UsageFilters }) {
  const { t } = useTranslation();
  const report = useApiQuery<Report>(filters.path);
  const isOwn = filters.scope === 'own';
  const self = useApiQuery<User>('/api/user/self', { enabled: isOwn });
  const storage = useApiQuery<KeptStorage>('/api/user/self/storage', { enabled: isOwn });
  return (
    <QueryResult query={report}>
      {(read) => (
        <>
          <UsageTotals report={read} balance={isOwn ? self.data?.quota : undefined} />
          {isOwn && storage.data && <KeptFiles storage={storage.data} />}
          {read.shares.length === 0 ? (
            <EmptyState heading={t('usage.empty.heading')} text={t('usage.empty.text')} />
          ) : (
            <>
              <UsageOverTime report={read} />
              <UsageShares report={read} filters={filters} />
              <BillList report={read} filters={filters} />
            </>
          )}
        </>
      )}
    </QueryResult>
  );
}

/** `balance`: of the account whose usage it is. */
function UsageTotals({ report: { totals }, balance }: { report: Report; balance?: number | undefined }) {
  const { t } = useTranslation();
  const format = useFormat();
  const last: Figure =
    balance === undefined
      ? {
          label: t('home.success'),
          value: totals.success_rate === null ? '–' : format.percent(totals.success_rate),
        }
      : { label: t('home.balance'), value: format.money(balance), note: balance > 0 && <LowBalanceNote /> };
  return (
    <Figures
      label={t('home.figures')}
      figures={[
        { label: t('usage.spent'), value: format.money(totals.spend) },
        { label: t('usage.finished'), value: format.number(totals.succeeded) },
        { label: t('usage.failed'), value: format.number(totals.failed) },
        last,
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
    <Text size="sm" c="dimmed">
      {quota === null ? t('usage.kept', { used: gb(bytes) }) : t('usage.keptOf', { used: gb(bytes), quota: gb(quota) })}
    </Text>
  );
}
