import { NumberInput, type NumberInputProps } from '@mantine/core';
import { useState } from 'react';

type NumberFieldProps = NumberInputProps & {
  value: number | string;
  /** undefined: there is no number. */
  onChange(value: number | undefined): void;
};

/**
 * A number input that keeps intermediate texts such as `0.` and `10.0`. Replacing them with the
 * parsed number would change the next digit's meaning.
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
