import { NativeSelect, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toNumber } from './decimal.ts';
import { DecimalField } from './decimal-field.tsx';
import { fitStep, nameUnit, type QuantityUnit, type UnitStep, unitSteps } from './quantity.ts';

type QuantityFieldProps = {
  unit: QuantityUnit;
  /** A number of the stored unit, or what was typed where that is not a number. */
  value: string;
  onChange(value: string): void;
  label: ReactNode;
  description?: ReactNode;
  error: string | null;
  /** What an empty field means, which is stored as 0. */
  zero?: string | undefined;
  /** The stored number that holds if there is none. */
  initial?: string;
  classNames?: Record<string, string>;
  disabled?: boolean;
};

/** A number and its unit, chosen beside it: "10 GB" is stored as bytes. */
export function QuantityField({ unit, value, onChange, initial = '', ...input }: QuantityFieldProps) {
  const { t, i18n } = useTranslation();
  const steps = unitSteps[unit];
  // What was typed stays as it is: 1.50 hours must not become 90 minutes at once.
  const [typed, setTyped] = useState<{ value: string; amount: string; step: UnitStep } | null>(null);
  const isTyped = typed !== null && typed.value === value;
  const step = isTyped ? typed.step : fitStep(unit, value, initial);
  const amount = isTyped ? typed.amount : toAmount(value, step.size);
  const isZero = input.zero !== undefined && value === '0';
  const send = (next: string, chosen: UnitStep): void => {
    const stored = toStored(next, chosen.size);
    setTyped({ value: stored, amount: next, step: chosen });
    onChange(stored);
  };
  const choose = (name: string): void => send(amount, steps.find((each) => each.name === name) ?? step);
  const data = steps.map(({ name }) => ({ value: name, label: nameUnit(name, Number(amount) || 2, i18n.language) }));
  return (
    <DecimalField
      {...input}
      isGrouped
      value={amount}
      placeholder={initial === '' ? '' : toAmount(initial, step.size)}
      onChange={(next) => send(next, step)}
      rightSectionWidth={data.length > 1 ? 112 : isZero ? 0 : 76}
      rightSection={
        data.length === 1 ? (
          // "Forever" has no unit.
          <Text size="sm" c="dimmed">
            {isZero ? '' : data[0]?.label}
          </Text>
        ) : (
          <NativeSelect
            variant="unstyled"
            // Its own: it would inherit the sizes of the field that it stands in.
            rightSectionWidth={28}
            styles={{ wrapper: { marginTop: 0 }, input: { background: 'none' } }}
            w="100%"
            aria-label={t('number.unit')}
            data={data}
            value={step.name}
            disabled={input.disabled === true}
            onChange={(event) => choose(event.currentTarget.value)}
          />
        )
      }
    />
  );
}

const toAmount = (value: string, size: number): string => (/^\d+$/.test(value) ? String(Number(value) / size) : value);

const toStored = (amount: string, size: number): string => {
  const number = toNumber(amount);
  return number === null || size === 1 ? amount : String(Math.round(number * size));
};
