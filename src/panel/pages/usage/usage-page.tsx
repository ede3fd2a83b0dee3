import { useTranslation } from 'react-i18next';
import { Page } from '../../ui/page/page.tsx';
import { UsageFilterBar } from './usage-filter-bar.tsx';
import { UsageReport } from './usage-report.tsx';
import { useUsageFilters } from './use-usage-filters.ts';

/** What was spent in a period: over time, by whom and on what, and bill by bill. */
export function UsagePage() {
  const { t } = useTranslation();
  const filters = useUsageFilters();
  return (
    <Page heading={t('nav.usage')} intro={t(filters.scope === 'own' ? 'usage.intro' : 'usage.introAll')}>
      <UsageFilterBar filters={filters} />
      <UsageReport filters={filters} />
    </Page>
  );
}
