import { Group, Input, NativeSelect } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { TextKey } from '../../i18n/texts.ts';
import { useFormat } from '../display/use-format.ts';
import { toDollars, toQuota } from './decimal.ts';
import { MoneyField } from './decimal-field.tsx';
import type { Focusable } from './use-form.ts';

/** The form values of a budget: no period means no limit. */
export type LimitValues = { limit_period: string; limit_usd: string };

type Budget = { amount: number; period: string };
type SpentBudget = Budget & { spent: number; resets_at: number | null };

export const budgetPeriods = [
  { value: 'day', label: 'limit.day' },
  { value: 'week', label: 'limit.week' },
  { value: 'month', label: 'limit.month' },
  { value: 'total', label: 'limit.total' },
] as const satisfies readonly { value: string; label: TextKey }[];

export const toLimitValues = (budget: Budget | null): LimitValues => ({
  limit_period: budget?.period ?? '',
  limit_usd: budget === null ? '' : toDollars(budget.amount),
});

export const toBudget = ({ limit_period: period, limit_usd: usd }: LimitValues): Budget | null =>
  period === '' ? null : { amount: toQuota(usd) ?? 0, period };

export const isLimitWrong = ({ limit_period: period, limit_usd: usd }: LimitValues): boolean =>
  period !== '' && (toQuota(usd) ?? 0) < 1;

type FieldProps = {
  value: string;
  onChange(value: string): void;
  error: string | null;
  ref(element: Focusable | null): void;
};

type SpendingLimitProps = {
  period: FieldProps;
  usd: FieldProps;
  /** Default: that of an account. */
  label?: string;
  description: string;
  /** What is stored, with what is spent in its present period. */
  stored: SpentBudget | null;
};

/** How much may be spent in each day, week or month, or in all. */
export function SpendingLimit({ period, usd, label, description, stored }: SpendingLimitProps) {
  const { t } = useTranslation();
  return (
    <Input.Wrapper label={label ?? t('limit.label')} description={description} labelElement="div">
      <Group gap="md" align="flex-start" mt={8}>
        <NativeSelect
          aria-label={t('limit.period')}
          data={[
            { value: '', label: t('limit.none') },
            ...budgetPeriods.map(({ value, label }) => ({ value, label: t(label) })),
          ]}
          value={period.value}
          error={period.error}
          onChange={(event) => period.onChange(event.currentTarget.value)}
        />
        {period.value !== '' && <MoneyField {...usd} aria-label={t('limit.usd')} w={180} />}
      </Group>
      {stored !== null && <LimitSpent budget={stored} />}
    </Input.Wrapper>
  );
}

/** What is spent of a budget in its present period, and when the next begins. */
export function LimitSpent({ budget: { amount, spent, resets_at: resetsAt } }: { budget: SpentBudget }) {
  const { t } = useTranslation();
  const format = useFormat();
  const money = { spent: format.money(spent), amount: format.money(amount) };
  return (
    <Input.Description mt={8}>
      {resetsAt === null ? t('limit.spentInAll', money) : t('limit.spent', { ...money, time: format.time(resetsAt) })}
    </Input.Description>
  );
}
