import { useTranslation } from 'react-i18next';
import { useFormat } from '../../../ui/display/use-format.ts';

/** How many of the chosen tasks an action leaves out; nothing if it is possible for all. */
export function SkippedTasks({ count }: { count: number }) {
  const { t } = useTranslation();
  const format = useFormat();
  return count > 0 && t('tasks.bulk.skipped', { count, shown: format.number(count) });
}
