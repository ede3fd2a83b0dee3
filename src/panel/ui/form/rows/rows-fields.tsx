import { ActionIcon, Autocomplete, Button, NativeSelect, Text, TextInput } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import { type CSSProperties, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { DecimalField } from '../decimal-field.tsx';
import { describeRatio } from '../quantity.ts';
import { QuantityField } from '../quantity-field.tsx';
import classes from './rows.module.css';
import { addRow, findFault, type Row, type RowColumn, type RowsFormat } from './rows-format.ts';

type RowsFieldsProps = {
  format: RowsFormat;
  rows: readonly Row[];
  onChange(rows: readonly Row[]): void;
  /** Whether a field shows what is wrong with it. */
  showsFaults: boolean;
  /** Names to choose from in a column of groups. */
  groups?: readonly string[];
};

/** Rows of fields that one adds and removes. */
export function RowsFields({ format, rows, onChange, showsFaults, groups = [] }: RowsFieldsProps) {
  const { t, i18n } = useTranslation();
  const list = useRef<HTMLDivElement>(null);
  const addButton = useRef<HTMLButtonElement>(null);
  const [added, setAdded] = useState<number | null>(null);
  const { columns, layout, fixedFirst } = format;
  useEffect(() => {
    if (added !== null) list.current?.querySelector<HTMLElement>(`[data-row="${added}"] input`)?.focus();
  }, [added]);

  const add = (): void => {
    const next = addRow(rows, format);
    onChange(next);
    setAdded(next.at(-1)?.id ?? null);
  };
  const remove = (id: number): void => {
    onChange(rows.filter((row) => row.id !== id));
    setAdded(null);
    addButton.current?.focus();
  };
  const change = (id: number, index: number, text: string): void =>
    onChange(
      rows.map((row) =>
        row.id === id ? { id, cells: row.cells.map((cell, each) => (each === index ? text : cell)) } : row,
      ),
    );
  const unused = groups.filter((name) => !rows.some(({ cells }) => cells[0] === name));

  return (
    <>
      <div
        ref={list}
        className={classes.list}
        data-layout={layout}
        data-columns={columns.length}
        style={{ '--numbers': columns.length - 1 } as CSSProperties}
      >
        {layout === 'table' && rows.length > 0 && (
          <div className={classes.head} aria-hidden="true">
            {columns.map(({ label }) => (
              <span key={label}>{t(label)}</span>
            ))}
          </div>
        )}
        {rows.map((row, number) => {
          const isFixed = fixedFirst !== undefined && number === 0;
          const fixedName = rows.length > 1 ? fixedFirst?.amongOthers : fixedFirst?.alone;
          const name = isFixed && fixedName ? t(fixedName) : t('rows.row', { number: number + 1 });
          return (
            // biome-ignore lint/a11y/useSemanticElements: browsers differ in a fieldset's grid
            <div key={row.id} role="group" aria-label={name} className={classes.row} data-row={row.id}>
              {columns.map((column, index) =>
                isFixed && index === 0 ? (
                  <Text key={column.label} size="sm" className={classes.fixed ?? ''}>
                    {name}
                  </Text>
                ) : (
                  <CellInput
                    key={column.label}
                    column={column}
                    value={row.cells[index] ?? ''}
                    fault={showsFaults ? findFault(t, { columns, rows, row, index, language: i18n.language }) : null}
                    groups={unused}
                    onChange={(text) => change(row.id, index, text)}
                  />
                ),
              )}
              {!isFixed && layout === 'card' && (
                <Button
                  variant="subtle"
                  color="gray"
                  size="xs"
                  className={classes.remove ?? ''}
                  aria-label={t('rows.remove', { number: number + 1 })}
                  onClick={() => remove(row.id)}
                >
                  {t('rows.removeThis')}
                </Button>
              )}
              {!isFixed && layout === 'table' && (
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  size={36}
                  className={classes.remove}
                  aria-label={t('rows.remove', { number: number + 1 })}
                  onClick={() => remove(row.id)}
                >
                  <IconX size={18} stroke={1.6} aria-hidden="true" />
                </ActionIcon>
              )}
            </div>
          );
        })}
      </div>
      <Button
        ref={addButton}
        variant="default"
        size="xs"
        mt={12}
        disabled={rows.length >= format.maximum}
        leftSection={<IconPlus size={16} stroke={1.6} aria-hidden="true" />}
        onClick={add}
      >
        {t(format.add)}
      </Button>
    </>
  );
}

type CellInputProps = {
  column: RowColumn;
  value: string;
  fault: string | null;
  groups: readonly string[];
  onChange(text: string): void;
};

function CellInput({ column, value, fault, groups, onChange }: CellInputProps) {
  const { t, i18n } = useTranslation();
  const { kind, placeholder, hint, unit, zero } = column;
  const shadow = placeholder === undefined ? '' : 'text' in placeholder ? placeholder.text : t(placeholder.key);
  const common = {
    label: t(column.label),
    error: fault,
    placeholder: shadow,
    classNames: { label: classes.label ?? '', root: classes.cell ?? '', wrapper: classes.input ?? '' },
  };
  if (kind === 'integer' || kind === 'decimal') {
    if (unit !== undefined && unit !== 'ratio') return <QuantityField {...common} {...{ unit, value, onChange }} />;
    const explain = unit === 'ratio' ? (ratio: number) => describeRatio(t, ratio, i18n.language) : undefined;
    return <DecimalField {...common} {...{ explain, value, onChange }} isGrouped zero={zero && t(zero)} />;
  }
  if (kind === 'choice') {
    const data = (column.choices ?? []).map(({ value: each, label }) => ({ value: each, label: t(label) }));
    return (
      <NativeSelect {...common} data={data} value={value} onChange={(event) => onChange(event.currentTarget.value)} />
    );
  }
  const text = { ...common, value, spellCheck: false, autoCapitalize: 'none' };
  if (kind === 'group') return <Autocomplete {...text} openOnFocus={false} data={groups} onChange={onChange} />;
  const description = hint === undefined ? undefined : t(hint);
  return (
    <TextInput
      {...text}
      {...{ description }}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
