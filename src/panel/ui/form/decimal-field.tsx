import { Text, TextInput, type TextInputProps } from '@mantine/core';
import { useLayoutEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { QUOTA_PER_USD } from '../../../kernel/quota.ts';
import { useFormat } from '../display/use-format.ts';
import { groupThousands, padCents, readDecimal, toNumber, writeDecimal } from './decimal.ts';

type DecimalFieldProps = Omit<TextInputProps, 'value' | 'onChange' | 'prefix'> & {
  /** A decimal, or what was typed where that is not a number. */
  value: string;
  onChange(decimal: string): void;
  /** Stands before the number, in the field. */
  prefix?: '$';
  /** Stands behind the number, in the field. */
  suffix?: string;
  /** What an empty field means, which stands for 0. */
  zero?: string | undefined;
  /** Whether its thousands are in groups while nobody types: not those of a port. */
  isGrouped?: boolean;
  /** What the number means, below the field. */
  explain?: ((value: number) => string) | undefined;
  /** How a number is said whose separators do not make it obvious. */
  say?(value: number): string;
};

/**
 * The input for every number. It takes both decimal separators, says which number it has read where
 * another language would read another, and keeps intermediate texts such as `0.` and `10.0`.
 */
export function DecimalField({
  value,
  onChange,
  say,
  error,
  prefix,
  suffix = '',
  zero,
  isGrouped = false,
  explain,
  ...input
}: DecimalFieldProps) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const { language } = i18n;
  const [typed, setTyped] = useState({ text: '', decimal: '', language });
  const [isFocused, setFocused] = useState(false);
  const selection = useRef<{ input: HTMLInputElement; from: number; to: number } | null>(null);
  const isTyped = typed.decimal === value && typed.language === language;
  const isZero = zero !== undefined && toNumber(value) === 0;
  const text = isTyped ? typed.text : isZero ? '' : writeDecimal(value, language);
  const reading = readDecimal(text, language);
  const fault = 'fault' in reading ? t(`number.${reading.fault}`, { example: writeDecimal('1234.5', language) }) : null;
  const amount = 'fault' in reading ? null : toNumber(reading.decimal);
  const said = explain && amount !== null ? explain(amount) : null;
  // The field writes its text again, and the browser would go on behind it.
  useLayoutEffect(() => {
    selection.current?.input.setSelectionRange(selection.current.from, selection.current.to);
    selection.current = null;
  });
  const unsure = 'fault' in reading || reading.isObvious ? null : amount;
  const isTidied = isGrouped && !isFocused && fault === null && unsure === null;
  const shown = isTidied ? groupThousands(prefix === undefined ? text : padCents(text, language), language) : text;
  // Where an empty field has a meaning, the currency stands beside the words for it.
  const isFixed = prefix !== undefined && zero !== undefined;
  const hint = unsure === null ? said : t('number.readAs', { number: say?.(unsure) ?? format.exact(unsure) });
  return (
    <TextInput
      {...input}
      {...(zero === undefined ? {} : { placeholder: zero })}
      {...(isFixed ? { leftSection: prefix, leftSectionWidth: 30 } : {})}
      inputContainer={(field) => (
        <div>
          {field}
          <Text size="xs" c="dimmed" mt={hint === null ? 0 : 4} aria-live="polite">
            {hint}
          </Text>
        </div>
      )}
      inputMode="decimal"
      autoComplete="off"
      value={text === '' ? '' : `${isFixed ? '' : (prefix ?? '')}${shown}${suffix}`}
      error={fault ?? error}
      onSelect={({ currentTarget }) => {
        const end = currentTarget.value.length - suffix.length;
        const { selectionStart: from, selectionEnd: to } = currentTarget;
        if (from !== null && from === to && from > end && end >= 0) currentTarget.setSelectionRange(end, end);
      }}
      onFocus={({ currentTarget: field }) => {
        if (shown !== text) selection.current = { input: field, from: 0, to: field.value.length };
        setFocused(true);
      }}
      onBlur={() => {
        if (isZero) setTyped({ text: '', decimal: value, language });
        setFocused(false);
      }}
      onChange={({ currentTarget }) => {
        const written = currentTarget.value.replace(suffix, '');
        const next = prefix !== undefined && written.startsWith(prefix) ? written.slice(prefix.length) : written;
        const caret = Math.min(currentTarget.selectionStart ?? written.length, written.length);
        if (suffix !== '') selection.current = { input: currentTarget, from: caret, to: caret };
        const read = readDecimal(next, language);
        const number = 'fault' in read ? next : read.decimal;
        const decimal = zero !== undefined && next.trim() === '' ? '0' : number;
        setTyped({ text: next, decimal, language });
        onChange(decimal);
      }}
    />
  );
}

/** An amount in US dollars. */
export function MoneyField(props: Omit<DecimalFieldProps, 'prefix' | 'suffix' | 'say'>) {
  const format = useFormat();
  return (
    <DecimalField
      prefix="$"
      placeholder="$"
      isGrouped
      say={(dollars) => format.exactMoney(dollars * QUOTA_PER_USD)}
      {...props}
    />
  );
}
