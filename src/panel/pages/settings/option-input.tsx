import { ColorInput, ColorSwatch, Select, Switch, TagsInput, Textarea, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { TextKey } from '../../i18n/texts.ts';
import { useFormat } from '../../ui/display/use-format.ts';
import { toDollars, toQuota } from '../../ui/form/decimal.ts';
import { DecimalField, MoneyField } from '../../ui/form/decimal-field.tsx';
import { QuantityField } from '../../ui/form/quantity-field.tsx';
import { moneyOptions, optionUnits, zeroTexts } from './option-units.ts';
import { rowsOptions } from './rows-options.ts';
import classes from './settings.module.css';
import type { OptionInputProps } from './special-inputs.tsx';
import { LogoInput, RowsInput, SecretInput } from './special-inputs.tsx';

const choiceTexts: Readonly<Record<string, TextKey>> = {
  '': 'settings.choice.any',
  admins: 'settings.choice.admins',
  everyone: 'settings.choice.everyone',
  nobody: 'settings.choice.nobody',
  preferred: 'settings.choice.preferred',
  required: 'settings.choice.required',
  discouraged: 'settings.choice.discouraged',
  platform: 'settings.choice.platform',
  'cross-platform': 'settings.choice.crossPlatform',
  off: 'settings.choice.off',
  asked: 'settings.choice.asked',
  all: 'settings.choice.all',
};

/** The green of the theme, which the panel has without a colour of its own. */
const builtInAccent = '#0b784d';

/** Hours of a day. */
const hourOptions = ['backup.hour', 'retention.start_hour'];

const addressOptions = ['ServerAddress', 'TaskPublicAddress'];
const exampleAddress = 'https://gateway.example.org';

/** Texts that are a sentence or more, written in a field that grows. */
const sentences = ['maintenance.message', 'branding.balance_hint'];

/** The input for an option's type. Values are strings, as in the API. */
export function OptionInput(props: OptionInputProps) {
  const { option, value, label, help, error, isDisabled = false, onChange } = props;
  const { t } = useTranslation();
  const common = { label, description: help, error, disabled: isDisabled };
  if (option.type === 'secret') return <SecretInput {...props} />;
  const rowsFormat = rowsOptions[option.key];
  if (rowsFormat !== undefined) return <RowsInput {...props} format={rowsFormat} />;
  if (option.key === 'branding.logo') return <LogoInput {...props} />;
  if (option.key === 'branding.accent') {
    return (
      <ColorInput
        {...common}
        classNames={{ wrapper: classes.medium ?? '' }}
        format="hex"
        withEyeDropper={false}
        placeholder={builtInAccent}
        value={value}
        onChange={onChange}
        {...(value === '' ? { leftSection: <ColorSwatch size={18} color={builtInAccent} /> } : {})}
      />
    );
  }
  if (option.type === 'boolean') {
    return (
      <Switch
        {...common}
        checked={value === 'true'}
        onChange={(event) => onChange(String(event.currentTarget.checked))}
        classNames={{ body: classes.switch ?? '', label: classes.label ?? '' }}
      />
    );
  }
  if (option.type === 'choice') {
    const data = (option.choices ?? []).map((choice) => {
      const text = choiceTexts[choice];
      return { value: choice, label: text === undefined ? choice : t(text) };
    });
    return (
      <Select
        {...common}
        classNames={{ wrapper: classes.medium ?? '' }}
        data={data}
        value={value}
        allowDeselect={false}
        onChange={(next) => onChange(next ?? value)}
      />
    );
  }
  if (hourOptions.includes(option.key)) {
    return (
      <Select
        {...common}
        classNames={{ wrapper: classes.short ?? '' }}
        data={hours}
        value={value}
        allowDeselect={false}
        onChange={(next) => onChange(next ?? value)}
      />
    );
  }
  if (option.key === 'billing.timezone') {
    return (
      <Select
        {...common}
        classNames={{ wrapper: classes.medium ?? '' }}
        data={listTimeZones(value)}
        value={value}
        searchable
        limit={100}
        allowDeselect={false}
        onChange={(next) => onChange(next ?? value)}
      />
    );
  }
  if (option.type === 'integer') return <IntegerInput {...props} />;
  if (option.type === 'list') {
    return (
      <TagsInput
        {...common}
        value={value === '' ? [] : value.split(',').map((entry) => entry.trim())}
        splitChars={[',', ' ']}
        onChange={(entries) => onChange(entries.join(','))}
      />
    );
  }
  const input = {
    ...common,
    value,
    onChange: (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value),
  };
  if (option.multiline === true) return <Textarea {...input} autosize minRows={6} maxRows={20} />;
  // Each is one line of at most 200 characters, which a low field would cut.
  if (sentences.includes(option.key)) {
    return (
      <Textarea
        {...input}
        autosize
        placeholder={option.default}
        onChange={(event) => onChange(event.currentTarget.value.replace(/[\r\n]+/g, ' '))}
      />
    );
  }
  return (
    <TextInput
      {...input}
      classNames={{ wrapper: classes.medium ?? '' }}
      placeholder={addressOptions.includes(option.key) ? exampleAddress : option.default}
      spellCheck={false}
      {...(option.type === 'url' ? { inputMode: 'url' as const } : {})}
    />
  );
}

const hours = Array.from({ length: 24 }, (_, hour) => ({
  value: String(hour),
  label: `${String(hour).padStart(2, '0')}:00`,
}));

/** All that the browser knows; UTC and what is stored may be missing there. */
const listTimeZones = (stored: string): string[] => [
  ...new Set(['UTC', ...Intl.supportedValuesOf('timeZone'), stored].filter((zone) => zone !== '')),
];

/**
 * Money is stored as quota. What is not an amount keeps its text behind `=`, which no rule accepts.
 */
function IntegerInput({ option, value, label, help, error, isDisabled = false, onChange }: OptionInputProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const zeroText = zeroTexts[option.key];
  const zero = zeroText && t(zeroText);
  const isMoney = moneyOptions.includes(option.key);
  const unit = optionUnits[option.key];
  if (unit !== undefined) {
    return (
      <QuantityField
        {...{ unit, value, label, error, zero, onChange }}
        description={help}
        disabled={isDisabled}
        initial={option.default}
        classNames={{ wrapper: classes.short ?? '' }}
      />
    );
  }
  const Field = isMoney ? MoneyField : DecimalField;
  return (
    <Field
      isGrouped={option.key !== 'SMTPPort'}
      label={label}
      description={help}
      error={error}
      zero={zero}
      disabled={isDisabled}
      classNames={{ wrapper: classes.short ?? '' }}
      value={isMoney && /^\d+$/.test(value) ? toDollars(Number(value)) : value.replace(/^=/, '')}
      placeholder={isMoney ? format.money(Number(option.default)) : option.default}
      onChange={(next) => onChange(isMoney && next !== '' ? String(toQuota(next) ?? `=${next}`) : next)}
    />
  );
}
