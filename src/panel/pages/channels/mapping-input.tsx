import { ActionIcon, Button, Input, TextInput } from '@mantine/core';
import { IconArrowRight, IconPlus, IconX } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { ChannelValues } from './channel-form-values.ts';
import classes from './channels.module.css';

type MappingRows = ChannelValues['model_mapping'];
type MappingInputProps = { rows: MappingRows; onChange(rows: MappingRows): void; error: string | null };

/** Maps model names of clients to model names of the vendor. */
export function MappingInput({ rows, onChange, error }: MappingInputProps) {
  const { t } = useTranslation();
  const updateRow = (index: number, change: Partial<MappingRows[number]>): void =>
    onChange(rows.map((row, at) => (at === index ? { ...row, ...change } : row)));
  return (
    <fieldset className={classes.mapping}>
      <legend>{t('channels.mapping')}</legend>
      <Input.Description>{t('channels.mappingHelp')}</Input.Description>
      {rows.map((row, index) => (
        <div key={index} className={classes.mappingRow}>
          <TextInput
            aria-label={t('channels.mappingFrom', { number: index + 1 })}
            placeholder={t('channels.mappingFromExample')}
            value={row.from}
            onChange={(event) => updateRow(index, { from: event.currentTarget.value })}
            spellCheck={false}
          />
          <IconArrowRight size={16} stroke={1.6} aria-hidden="true" />
          <TextInput
            aria-label={t('channels.mappingTo', { number: index + 1 })}
            placeholder={t('channels.mappingToExample')}
            value={row.to}
            onChange={(event) => updateRow(index, { to: event.currentTarget.value })}
            spellCheck={false}
          />
          <ActionIcon
            variant="subtle"
            color="gray"
            size={36}
            aria-label={t('channels.mappingRemove', { number: index + 1 })}
            onClick={() => onChange(rows.filter((_, at) => at !== index))}
          >
            <IconX size={18} stroke={1.6} aria-hidden="true" />
          </ActionIcon>
        </div>
      ))}
      {error !== null && <Input.Error mt={8}>{error}</Input.Error>}
      <Button
        variant="default"
        size="xs"
        mt={12}
        leftSection={<IconPlus size={16} stroke={1.6} aria-hidden="true" />}
        onClick={() => onChange([...rows, { from: '', to: '' }])}
      >
        {t('channels.mappingAdd')}
      </Button>
    </fieldset>
  );
}
