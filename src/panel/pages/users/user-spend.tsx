import { Stack } from '@mantine/core';
import { UsageFilterBar } from '../usage/usage-filter-bar.tsx';
import { UsageReport } from '../usage/usage-report.tsx';
import { useUsageFilters } from '../usage/use-usage-filters.ts';

/** What one user spent in a period. */
export function UserSpend({ userId }: { userId: number }) {
  const filters = useUsageFilters(String(userId));
  return (
    <Stack gap={28}>
      <UsageFilterBar filters={filters} ofOneUser />
      <UsageReport filters={filters} />
    </Stack>
  );
}
