import { ActionIcon, Button, Input } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import classes from './channels.module.css';

type RowListProps<Row> = {
  legend: string;
  description: string;
  rows: readonly Row[];
  onChange(rows: Row[]): void;
  error: string | null;
  /** What a new row holds. */
  emptyRow: Row;
  addLabel: string;
  /** Names the button that removes row `number`, from 1. */
  removeLabel(number: number): string;
  /** The grid of a row: its fields, and a last column for that button. */
  rowClass: string | undefined;
  /** The fields of a row. */
  children(row: Row, change: (to: Partial<Row>) => void, number: number): ReactNode;
};

/** A list of which each row has a few fields: rows are added at its end and removed. */
export function RowList<Row>({ rows, onChange, error, children, ...props }: RowListProps<Row>) {
  return (
    <fieldset className={classes.rowList}>
      <legend>{props.legend}</legend>
      <Input.Description>{props.description}</Input.Description>
      {rows.map((row, index) => (
        <div key={index} className={props.rowClass}>
          {children(
            row,
            (to) => onChange(rows.map((other, at) => (at === index ? { ...other, ...to } : other))),
            index + 1,
          )}
          <ActionIcon
            variant="subtle"
            color="gray"
            size={36}
            aria-label={props.removeLabel(index + 1)}
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
        onClick={() => onChange([...rows, props.emptyRow])}
      >
        {props.addLabel}
      </Button>
    </fieldset>
  );
}
