import { Button, Code, Group, Select, Stack, Switch, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { errorMessage } from '../../api/error-message.ts';
import type { PriceQuote } from '../../api/types.ts';
import { localise } from '../../i18n/texts.ts';
import { useSession } from '../../session/session-context.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { toDecimal, toNumber } from '../../ui/form/decimal.ts';
import { DecimalField } from '../../ui/form/decimal-field.tsx';
import { usePriceLine, useUsageLabels } from '../tasks/task/task-bill.tsx';
import classes from './prices.module.css';
import { type UsageField, usageFieldLabel } from './usage-field.ts';

/** undefined: the field was cleared. */
type Fact = string | number | boolean | undefined;
type Example = { label: string; facts: Readonly<Record<string, Fact>> };

type QuotePreviewProps = {
  pluginKey: string;
  model: string;
  expression: string;
  schema: Readonly<Record<string, UsageField>>;
  examples: readonly Example[];
  /** The price is written with the names of the facts. */
  isFormula: boolean;
};

/**
 * Previews the price of a sample request while the expression is edited. The user enters the facts;
 * the gateway calculates. Its last step says in units what the sum says in money.
 */
export function QuotePreview({ pluginKey, model, expression, schema, examples, isFormula }: QuotePreviewProps) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const session = useSession();
  const [action, setAction] = useState('');
  const [editedFacts, setEditedFacts] = useState<Readonly<Record<string, Fact>>>({});
  const facts = { ...initialFacts(schema, examples[0]), ...editedFacts };
  const body = {
    plugin_key: pluginKey,
    model: model.trim(),
    expression: expression.trim(),
    facts,
    ...(action.trim() === '' ? {} : { action: action.trim() }),
  };
  const labels = useUsageLabels(pluginKey, model);
  const all = Object.entries(schema);
  const used = readFactNames(expression);
  // Which ones a price will use is not known before it is written.
  const fields = body.expression === '' ? all : all.filter(([name]) => used.has(name));
  const isWhole = fields.length === all.length;
  // Plugins write the labels of examples in English.
  const presets =
    isWhole && i18n.language === 'en' ? examples : toPresets(examples, isWhole ? null : used, labels.format);
  const text = JSON.stringify(body);
  const [debounced] = useDebouncedValue(text, 350);
  const isComplete = body.model !== '' && body.expression !== '';
  const quote = useQuery({
    queryKey: ['quote', debounced],
    queryFn: () =>
      session.send<PriceQuote>({ method: 'POST', path: '/api/price/quote', body: JSON.parse(debounced) as unknown }),
    // Only for the current text: the previous one may have been incomplete.
    enabled: isComplete && debounced === text,
    placeholderData: keepPreviousData,
    retry: false,
  });
  const line = usePriceLine({
    ...{ platform: pluginKey, model: body.model, expression: isFormula ? null : body.expression, facts },
    ...{ steps: quote.data?.steps ?? [], ratio: quote.data?.group_ratio ?? 1, charged: null },
  });
  /** The shown price belongs to the current input. */
  const isCurrent = debounced === text && !quote.isPlaceholderData;

  return (
    <section className={classes.quote} aria-label={t('prices.try')}>
      <Group justify="space-between" gap="sm">
        <Text fw={600} size="sm">
          {t('prices.try')}
        </Text>
        {isComplete && !quote.isError && quote.data !== undefined && (
          <Text fz={24} fw={640} lh={1.2} className={classes.sum} mod={{ stale: !isCurrent }} role="status">
            {format.money(quote.data.quota)}
          </Text>
        )}
      </Group>
      {presets.length > 0 && (
        <Group gap={8}>
          {presets.map(({ label, facts: example }) => (
            <Button
              key={label}
              variant={isSame(example, facts) ? 'light' : 'default'}
              aria-pressed={isSame(example, facts)}
              size="xs"
              className={classes.preset ?? ''}
              onClick={() => setEditedFacts((before) => ({ ...before, ...example }))}
            >
              {label}
            </Button>
          ))}
        </Group>
      )}
      <div className={classes.factInputs}>
        {fields.map(([name, field]) => (
          <FactInput
            key={name}
            {...(isFormula ? { name } : {})}
            field={field}
            hint={localise(field.description, i18n.language) || usageFieldLabel(field, { t, language: i18n.language })}
            value={facts[name]}
            onChange={(value) => setEditedFacts((before) => ({ ...before, [name]: value }))}
          />
        ))}
        {/\baction\b/.test(expression) && (
          <TextInput
            label={t('prices.action')}
            description={t('prices.actionHint')}
            value={action}
            onChange={(event) => setAction(event.currentTarget.value)}
            spellCheck={false}
            autoCapitalize="none"
          />
        )}
      </div>
      <div role="status">
        {!isComplete && (
          <Text size="sm" c="dimmed">
            {t('prices.tryHint')}
          </Text>
        )}
        {isComplete && quote.isError && (
          <Text size="sm" c="var(--mantine-color-error)">
            {errorMessage(quote.error, t, i18n.language)}
          </Text>
        )}
        {isComplete && !quote.isError && quote.data !== undefined && (
          <Stack gap={6}>
            {line !== null && <Text size="sm">{line}</Text>}
            {line === null &&
              quote.data.steps.slice(0, -1).map((step) => (
                <Code key={step} className={classes.step}>
                  {step}
                </Code>
              ))}
            {quote.data.group_ratio !== 1 && (
              <Text size="sm" c="dimmed">
                {t('prices.charged', {
                  amount: format.money(quote.data.quota),
                  ratio: format.number(quote.data.group_ratio),
                })}
              </Text>
            )}
          </Stack>
        )}
      </div>
    </section>
  );
}

/** The facts that a price names. */
const readFactNames = (expression: string): ReadonlySet<string> =>
  new Set([...expression.matchAll(/\bu\(\s*["']([^"']+)["']\s*\)/g)].map(([, name]) => `${name}`));

/**
 * The examples as far as the price distinguishes them, in the words of their facts. `used` is null
 * where the price uses all facts; those that are 0 or false are then left out of the words.
 */
function toPresets(
  examples: readonly Example[],
  used: ReadonlySet<string> | null,
  format: (name: string, value: unknown) => string,
): readonly Example[] {
  const presets = new Map<string, Example>();
  for (const { facts } of examples) {
    const shown = Object.entries(facts).filter(([name]) => used?.has(name) ?? true);
    const label = shown
      .filter(([, value]) => used !== null || (value !== 0 && value !== false))
      .map(([name, value]) => format(name, value))
      .join(', ');
    if (label !== '') presets.set(label, { label, facts: Object.fromEntries(shown) });
  }
  return [...presets.values()];
}

const isSame = (example: Example['facts'], facts: Example['facts']): boolean =>
  Object.entries(example).every(([name, value]) => facts[name] === value);

type FactInputProps = {
  name?: string;
  field: UsageField;
  hint: string;
  value: Fact;
  onChange(value: Fact): void;
};

function FactInput({ name, field, hint, value, onChange }: FactInputProps) {
  const description = name === undefined ? {} : { description: name };
  if ('enum' in field) {
    return (
      <Select
        label={hint}
        {...description}
        data={field.enum}
        value={String(value ?? '')}
        allowDeselect={false}
        onChange={(next) => next !== null && onChange(next)}
      />
    );
  }
  if (field.type === 'boolean') {
    return (
      <Switch
        label={hint}
        {...description}
        checked={value === true}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    );
  }
  return (
    <DecimalField
      label={hint}
      description={name}
      value={typeof value === 'number' ? toDecimal(value) : (value?.toString() ?? '')}
      onChange={(next) => onChange(next === '' ? undefined : (toNumber(next) ?? next))}
    />
  );
}

/** Initial facts: the plugin's first example, else a plausible value for each. */
function initialFacts(schema: QuotePreviewProps['schema'], example: Example | undefined): Record<string, Fact> {
  const defaults = Object.entries(schema).map(([name, field]): [string, Fact] => {
    if ('enum' in field) return [name, field.enum[0] ?? ''];
    return [name, field.type === 'boolean' ? false : 1];
  });
  return { ...Object.fromEntries(defaults), ...example?.facts };
}
