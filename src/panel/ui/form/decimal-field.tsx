import { Text, TextInput, type TextInputProps } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { quotaPerUsd, useFormat } from '../display/use-format.ts';
import { numberOf, readDecimal, writeDecimal } from './decimal.ts';

type DecimalFieldProps = Omit<TextInputProps, 'value' | 'onChange' | 'prefix'> & {
  /** A decimal, or what was typed where that is no number. */
  value: string;
  onChange(decimal: string): void;
  /** Stands before the number, in the field. */
  prefix?: '$';
  /** Stands behind the number while nobody types. */
  suffix?: string;
  /** How a number is said whose separators do not make it obvious. */
  say?(value: number): string;
};

/**
 * The input for every number. It takes both decimal separators, says which number it has read where
 * another language would read another, and keeps intermediate texts such as `0.` and `10.0`.
 */
export function DecimalField({ value, onChange, say, error, prefix, suffix = '', ...input }: DecimalFieldProps) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const { language } = i18n;
  const [typed, setTyped] = useState({ text: '', decimal: '', language });
  const [hasFocus, setFocus] = useState(false);
  const isTyped = typed.decimal === value && typed.language === language;
  const text = isTyped ? typed.text : writeDecimal(value, language);
  const reading = readDecimal(text, language);
  const fault = 'fault' in reading ? t(`number.${reading.fault}`, { example: writeDecimal('1234.5', language) }) : null;
  const number = 'fault' in reading || reading.isObvious ? null : numberOf(reading.decimal);
  return (
    <div>
      <TextInput
        {...input}
        inputMode="decimal"
        autoComplete="off"
        value={text === '' ? '' : `${prefix ?? ''}${text}${hasFocus ? '' : suffix}`}
        error={fault ?? error}
        onFocus={() => setFocus(true)}
        onBlur={() => setFocus(false)}
        onChange={({ currentTarget }) => {
          const { value: shown } = currentTarget;
          const next = prefix !== undefined && shown.startsWith(prefix) ? shown.slice(prefix.length) : shown;
          const read = readDecimal(next, language);
          const decimal = 'fault' in read ? next : read.decimal;
          setTyped({ text: next, decimal, language });
          onChange(decimal);
        }}
      />
      <Text size="xs" c="dimmed" mt={number === null ? 0 : 4} aria-live="polite">
        {number !== null && t('number.readAs', { number: say?.(number) ?? format.exact(number) })}
      </Text>
    </div>
  );
}

/** An amount in US dollars. */
export function MoneyField(props: Omit<DecimalFieldProps, 'prefix' | 'suffix' | 'say'>) {
  const format = useFormat();
  return <DecimalField prefix="$" say={(dollars) => format.exactMoney(dollars * quotaPerUsd)} {...props} />;
}
