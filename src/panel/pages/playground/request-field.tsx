import { Select, Textarea, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { CallableModel } from '../../api/types.ts';
import { localise } from '../../i18n/texts.ts';
import { labelChoice, useFormat } from '../../ui/display/use-format.ts';
import { toDecimal, toNumber } from '../../ui/form/decimal.ts';
import { DecimalField } from '../../ui/form/decimal-field.tsx';
import { isFitNumber } from './schema-fields.ts';

export type FieldSchema = CallableModel['schema']['properties'][string];

export type FieldProps = {
  name: string;
  /** What people call the field. */
  label: string;
  /** The plugin's help text for the field; empty: none. */
  help: string;
  schema: FieldSchema;
  isRequired: boolean;
  /** Why the plugin refuses the value; null: it does not. */
  refusal: string | null;
  className: string | undefined;
};

type RequestFieldProps = FieldProps & {
  value: unknown;
  /** What the plugin takes for an empty field; undefined: it does not say. */
  standard: unknown;
  /** What to type as a prompt. */
  promptHint: string;
  /** undefined omits the field. */
  onChange(value: unknown): void;
};

/** More choices than these are typed, where they are all whole numbers of a range. */
const maxListed = 6;

const isListed = ({ enum: choices = [], minimum = 0, maximum = 0 }: FieldSchema): boolean =>
  choices.length > 0 && (choices.length <= maxListed || choices.length !== maximum - minimum + 1);

/**
 * The input for a field's schema. Empty fields are omitted, so that the plugin's default applies.
 */
export function RequestField({
  name,
  label,
  help,
  schema,
  isRequired,
  refusal,
  className,
  value,
  standard,
  promptHint,
  onChange,
}: RequestFieldProps) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const text = typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
  const common = {
    label,
    description: help || null,
    error: refusal,
    ...(className === undefined ? {} : { className }),
  };
  const asText = (next: string): void => onChange(next === '' ? undefined : next);

  const counted = localise(schema['x-unit-label'], i18n.language);
  const unit = schema['x-unit'] === 'second' ? ` ${t('play.field.seconds')}` : counted && ` ${counted}`;
  const unset = (): string => {
    if (typeof standard === 'number') return t('play.field.default', { value: `${format.number(standard)}${unit}` });
    if (typeof standard === 'boolean') return t('play.field.default', { value: t(standard ? 'app.yes' : 'app.no') });
    if (typeof standard === 'string' && standard !== '') return t('play.field.default', { value: standard });
    return t('play.field.unset');
  };
  if (schema.enum !== undefined && (schema.type !== 'number' || isListed(schema))) {
    const options = schema.enum.map((choice) => {
      const said = typeof choice === 'number' ? `${format.number(choice)}${unit}` : choice;
      return { value: String(choice), label: labelChoice(said, schema['x-enum-labels']?.[choice], i18n.language) };
    });
    const isOther = text !== '' && !options.some((option) => option.value === text);
    return (
      <Select
        {...common}
        placeholder={unset()}
        clearable
        data={isOther ? [...options, { value: text, label: text }] : options}
        value={text === '' ? null : text}
        error={isOther && schema.type === 'number' ? t('play.field.outside') : refusal}
        onChange={(choice) =>
          onChange(choice === null ? undefined : schema.type === 'number' ? Number(choice) : choice)
        }
      />
    );
  }
  if (schema.type === 'boolean') {
    return (
      <Select
        {...common}
        placeholder={unset()}
        clearable
        data={[
          { value: 'true', label: t('app.yes') },
          { value: 'false', label: t('app.no') },
        ]}
        value={typeof value === 'boolean' ? String(value) : null}
        onChange={(choice) => onChange(choice === null ? undefined : choice === 'true')}
      />
    );
  }
  if (schema.type === 'number') {
    const { minimum, maximum } = schema;
    // The contract's own limits, which every plugin has, say nothing about this model.
    const range =
      minimum === undefined || maximum === undefined || schema['x-range'] !== 'plugin'
        ? ''
        : `${t('play.field.range', { low: format.number(minimum), high: format.number(maximum) })}${unit}`;
    return (
      <DecimalField
        {...common}
        description={[help, range].filter((part) => part !== '').join(' · ') || null}
        placeholder={unset()}
        error={value === undefined || isFitNumber(schema, value) ? refusal : t('play.field.outside')}
        suffix={unit}
        value={typeof value === 'number' ? toDecimal(value) : text}
        onChange={(next) => onChange(next === '' ? undefined : (toNumber(next) ?? next))}
      />
    );
  }
  if (name === 'prompt') {
    return (
      <Textarea
        {...common}
        label={t('play.field.prompt')}
        placeholder={promptHint}
        autosize
        minRows={3}
        maxRows={12}
        data-autofocus
        value={text}
        onChange={({ currentTarget }) => asText(currentTarget.value)}
      />
    );
  }
  if (schema['x-input'] === 'text') {
    const example = schema['x-example'];
    return (
      <Textarea
        {...common}
        placeholder={example === undefined ? '' : t('play.field.example', { example })}
        required={isRequired}
        autosize
        minRows={example === undefined ? 3 : 1}
        maxRows={12}
        spellCheck={example === undefined}
        value={text}
        onChange={({ currentTarget }) => asText(currentTarget.value)}
      />
    );
  }
  const isSize = name === 'size';
  const isWrong = schema.pattern !== undefined && text !== '' && !new RegExp(schema.pattern).test(text);
  return (
    <TextInput
      {...common}
      label={isSize ? t('play.field.size') : common.label}
      description={help || (isSize ? t('play.field.sizeHint') : null)}
      placeholder={unset()}
      error={isWrong ? t('play.field.sizeWrong') : refusal}
      spellCheck={false}
      value={text}
      onChange={({ currentTarget }) => asText(currentTarget.value)}
    />
  );
}
