import { NumberInput, type NumberInputProps } from '@mantine/core';
import { useState } from 'react';

type NumberFieldProps = NumberInputProps & {
  value: number | string;
  /** undefined: no number is there. */
  onChange(value: number | undefined): void;
};

/**
 * What is typed on the way to a number (`0.`, `10.0`) stays as it is typed: put back as the number
 * it means so far, the next digit would make it another.
 */
export function NumberField({ value, onChange, ...input }: NumberFieldProps) {
  const [typed, setTyped] = useState(value);
  return (
    <NumberInput
      {...input}
      value={readNumber(typed) === readNumber(value) ? typed : value}
      onChange={(next) => {
        setTyped(next);
        onChange(readNumber(next));
      }}
    />
  );
}

const readNumber = (text: number | string): number | undefined =>
  text === '' || Number.isNaN(Number(text)) ? undefined : Number(text);
