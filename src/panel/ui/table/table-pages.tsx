import { Group, NativeSelect, Pagination, Text } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../display/use-format.ts';

/** `has_more`: there are more rows than `total`, which is as far as the server counts. */
export type PageOf = { page: number; page_size: number; total: number; has_more?: boolean };

export const countPages = ({ total, page_size }: PageOf): number => Math.max(1, Math.ceil(total / page_size));

const pageSizes = [20, 50, 100];

type PagesProps = { data: PageOf; onPage(page: number): void; onPageSize?(size: number): void };

/** Where one is in a list, and the way to its other pages. */
export function Pages({ data, onPage, onPageSize }: PagesProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const isPhone = useMediaQuery('(max-width: 639px)', undefined, { getInitialValueInEffect: false }) === true;
  const pages = countPages(data);
  const hasSizes = onPageSize !== undefined && data.total > Math.min(...pageSizes);
  // All rows are in sight.
  if (pages === 1 && !hasSizes) return null;
  const first = (data.page - 1) * data.page_size + 1;
  const range = {
    first: format.number(Math.min(first, data.total)),
    last: format.number(Math.min(first + data.page_size - 1, data.total)),
    total: `${format.number(data.total)}${data.has_more ? '+' : ''}`,
  };
  return (
    <Group justify="space-between" mt="md" gap="sm">
      <Group gap="sm">
        <Text size="sm" c="dimmed" aria-live="polite">
          {t('table.range', range)}
        </Text>
        {hasSizes && (
          <NativeSelect
            size="xs"
            aria-label={t('table.pageSize')}
            value={data.page_size}
            onChange={({ currentTarget }) => onPageSize(Number(currentTarget.value))}
            data={pageSizes.map((size) => ({ value: String(size), label: t('table.rows', { count: size }) }))}
          />
        )}
      </Group>
      {pages > 1 && (
        <Pagination
          size="sm"
          total={pages}
          // All in one row.
          siblings={isPhone ? 0 : 1}
          value={data.page}
          onChange={onPage}
          getControlProps={(control) => ({ 'aria-label': t(`table.${control}`) })}
          getItemProps={(page) => ({ 'aria-label': t('table.page', { page: String(page) }) })}
        />
      )}
    </Group>
  );
}
