import { Select } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { ChannelChoices } from '../../api/types.ts';

type GroupSelectProps = {
  choices: ChannelChoices | undefined;
  value: string;
  onChange(group: string): void;
  error: string | null;
};

/** Groups with a ratio, plus the account's current group if it has none. */
export function GroupSelect({ choices, value, onChange, error }: GroupSelectProps) {
  const { t, i18n } = useTranslation();
  const ratio = new Intl.NumberFormat(i18n.language, { maximumFractionDigits: 4 });
  const known = (choices?.groups ?? []).map((group) => ({
    value: group.name,
    label: t('users.groupRatio', { name: group.name, ratio: ratio.format(group.ratio) }),
  }));
  const data = known.some((group) => group.value === value) ? known : [...known, { value, label: value }];
  return (
    <Select
      label={t('users.group')}
      data={data}
      allowDeselect={false}
      value={value}
      onChange={(group) => onChange(group ?? value)}
      error={error}
    />
  );
}
