import { Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Page } from '../../ui/page/page.tsx';
import { PageTabs } from '../../ui/page/page-tabs.tsx';
import { AccountStatement } from './account-statement.tsx';
import { UsageFilterBar } from './usage-filter-bar.tsx';
import { UsageReport } from './usage-report.tsx';
import { type UsageFilters, useUsageFilters } from './use-usage-filters.ts';

/** What was spent in a period: over time, by whom and on what, and bill by bill. */
export function UsagePage() {
  const { t } = useTranslation();
  const filters = useUsageFilters();
  return (
    <Page heading={t('nav.usage')} intro={t(filters.scope === 'own' ? 'usage.intro' : 'usage.introAll')}>
      <PageTabs
        first="usage"
        tabs={[
          { name: 'usage', text: t('nav.usage'), panel: <Usage filters={filters} /> },
          {
            name: 'statement',
            text: t('ledger.statement'),
            panel: <AccountStatement path="/api/user/self/ledger" showsActor={false} />,
          },
        ]}
      />
    </Page>
  );
}

function Usage({ filters }: { filters: UsageFilters }) {
  return (
    <Stack gap="xl">
      <UsageFilterBar filters={filters} />
      <UsageReport filters={filters} />
    </Stack>
  );
}
