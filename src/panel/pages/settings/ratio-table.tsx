import { ActionIcon, Button, Input, NumberInput, TextInput } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { OptionInputProps } from './option-input-props.ts';
import classes from './settings.module.css';

type Row = { id: number; name: string; ratio: number | string };

/**
 * Edits groups and their ratios as rows. The value is a JSON object, or an empty string while a row
 * is incomplete.
 */
export function RatioTable({ option, value, label, help, error, onChange }: OptionInputProps) {
  const { t } = useTranslation();
  const [rows, setRows] = useState<readonly Row[]>(() => parseRows(value));
  // A value that differs from the rows was discarded or saved elsewhere: load it.
  const currentText = serializeRows(rows);
  const [lastSent, setLastSent] = useState(currentText);
  if (value !== lastSent && value === option.value) {
    setRows(parseRows(value));
    setLastSent(value);
  }
  const setAndSend = (next: readonly Row[]): void => {
    const text = serializeRows(next);
    setRows(next);
    setLastSent(text);
    onChange(text);
  };
  const updateRow = (id: number, part: Partial<Row>): void =>
    setAndSend(rows.map((row) => (row.id === id ? { ...row, ...part } : row)));
  const nextId = Math.max(0, ...rows.map(({ id }) => id)) + 1;
  return (
    <fieldset className={classes.ratios}>
      <legend>{label}</legend>
      <Input.Description>{help}</Input.Description>
      <div className={classes.ratioHead} aria-hidden="true">
        <span>{t('settings.ratioNameHead')}</span>
        <span>{t('settings.ratioValueHead')}</span>
      </div>
      {rows.map((row, index) => (
        <div key={row.id} className={classes.ratio}>
          <TextInput
            aria-label={t('settings.ratioName', { number: index + 1 })}
            value={row.name}
            spellCheck={false}
            onChange={(event) => updateRow(row.id, { name: event.currentTarget.value })}
          />
          <NumberInput
            aria-label={t('settings.ratioValue', { number: index + 1 })}
            value={row.ratio}
            min={0}
            step={0.1}
            onChange={(ratio) => updateRow(row.id, { ratio })}
          />
          <ActionIcon
            variant="subtle"
            color="gray"
            size={36}
            aria-label={t('settings.ratioRemove', { number: index + 1 })}
            onClick={() => setAndSend(rows.filter(({ id }) => id !== row.id))}
          >
            <IconX size={18} stroke={1.6} aria-hidden="true" />
          </ActionIcon>
        </div>
      ))}
      {error !== null && (
        <Input.Error mt={8} role="alert">
          {currentText === '' ? t('settings.ratioInvalid') : error}
        </Input.Error>
      )}
      <Button
        variant="default"
        size="xs"
        mt={12}
        leftSection={<IconPlus size={16} stroke={1.6} aria-hidden="true" />}
        onClick={() => setAndSend([...rows, { id: nextId, name: '', ratio: 1 }])}
      >
        {t('settings.ratioAdd')}
      </Button>
    </fieldset>
  );
}

function parseRows(text: string): readonly Row[] {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return [];
    return Object.entries(value).map(([name, ratio], index) => ({ id: index + 1, name, ratio: Number(ratio) }));
  } catch {
    return [];
  }
}

/** Empty while a name is missing, invalid or duplicate, or a ratio is invalid. */
function serializeRows(rows: readonly Row[]): string {
  const names = rows.map(({ name }) => name.trim());
  const isComplete =
    rows.every(({ ratio }) => ratio !== '' && Number(ratio) >= 0) &&
    names.every((name) => /^[\w.-]{1,64}$/.test(name)) &&
    new Set(names).size === names.length;
  return isComplete
    ? JSON.stringify(Object.fromEntries(rows.map(({ ratio }, index) => [names[index], Number(ratio)])))
    : '';
}
