import { Input } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Option } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { RowsFields } from '../../ui/form/rows/rows-fields.tsx';
import { cellsOf, hasFaults, type Row, toRows } from '../../ui/form/rows/rows-format.ts';
import type { OptionInputProps } from './option-input-props.ts';
import { type RowsOption, rowsOptions } from './rows-options.ts';
import classes from './settings.module.css';

type RowsInputProps = OptionInputProps & { format: RowsOption };

/** Edits a JSON value as rows. The value is an empty string while a field is invalid. */
export function RowsInput({ format, option, value, label, help, error, onChange }: RowsInputProps) {
  const { t } = useTranslation();
  const options = useApiQuery<Option[]>('/api/option');
  const [rows, setRows] = useState(() => toRows(format.parse(value)));
  const [lastSent, setLastSent] = useState(value);
  // A value that differs from the rows was discarded or saved elsewhere: load it.
  if (value !== lastSent && value === option.value) {
    setRows(toRows(format.parse(value)));
    setLastSent(value);
  }
  const setAndSend = (next: readonly Row[]): void => {
    const text = hasFaults(t, next, format) ? '' : format.serialize(cellsOf(next));
    // The stored text may have other spaces or another order.
    const isStored = text === format.serialize(format.parse(option.value));
    setRows(next);
    setLastSent(isStored ? option.value : text);
    onChange(isStored ? undefined : text);
  };
  return (
    <fieldset className={classes.fieldset}>
      <legend>{label}</legend>
      <Input.Description>{help}</Input.Description>
      <RowsFields
        format={format}
        rows={rows}
        onChange={setAndSend}
        showsFaults={error !== null}
        groups={readGroups(options.data ?? [])}
      />
      {error !== null && value !== '' && (
        <Input.Error mt={8} role="alert">
          {error}
        </Input.Error>
      )}
    </fieldset>
  );
}

const readGroups = (options: readonly Option[]): readonly string[] =>
  rowsOptions.groups?.parse(options.find(({ key }) => key === 'groups')?.value ?? '').flatMap(([name]) => name ?? []) ??
  [];
