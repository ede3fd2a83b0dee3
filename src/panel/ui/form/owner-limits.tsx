import { useTranslation } from 'react-i18next';
import { DecimalField } from './decimal-field.tsx';
import sideBySide from './side-by-side.module.css';
import type { Focusable } from './use-form.ts';

/** The form values of what a key or an account may do at once and in a minute; empty: no limit. */
export type OwnerLimitValues = { requests_per_minute: string; max_running: string };

type OwnerLimits = { requests_per_minute: number | null; max_running: number | null };

const mostOfLimits = 1_000_000;

export const toOwnerLimitValues = ({ requests_per_minute, max_running }: OwnerLimits): OwnerLimitValues => ({
  requests_per_minute: requests_per_minute === null ? '' : String(requests_per_minute),
  max_running: max_running === null ? '' : String(max_running),
});

/** What the text of a limit says. */
export const toOwnerLimit = (text: string): number | null => (text.trim() === '' ? null : Number(text));

export const isOwnerLimitWrong = (text: string): boolean => {
  const limit = toOwnerLimit(text);
  return limit !== null && !(Number.isInteger(limit) && limit >= 1 && limit <= mostOfLimits);
};

type FieldProps = {
  value: string;
  onChange(value: string): void;
  error: string | null;
  ref(element: Focusable | null): void;
};

type OwnerLimitFieldsProps = { perMinute: FieldProps; running: FieldProps };

export function OwnerLimitFields({ perMinute, running }: OwnerLimitFieldsProps) {
  const { t } = useTranslation();
  return (
    <div className={sideBySide.fields}>
      <DecimalField
        label={t('limit.perMinute')}
        description={t('limit.perMinuteHint')}
        placeholder={t('limit.none')}
        isGrouped
        {...perMinute}
      />
      <DecimalField
        label={t('limit.running')}
        description={t('limit.runningHint')}
        placeholder={t('limit.none')}
        isGrouped
        {...running}
      />
    </div>
  );
}
