import { Alert, Autocomplete, Combobox, Group, NativeSelect, Select, Stack, Text, Textarea } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { PluginSummary, Price, PriceSheet, UnpricedPluginModels } from '../../api/types.ts';
import { useApiMutation, useApiQuery, useLocalisedQuery } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { MoneyField } from '../../ui/form/decimal-field.tsx';
import { FormDialog, FormDialogButtons } from '../../ui/form/form-dialog.tsx';
import { type Form, useForm } from '../../ui/form/use-form.ts';
import {
  compareWithList,
  expressionForm,
  listForms,
  type PriceDraft,
  plainAmount,
  toDraft,
  toExpression,
} from './price-draft.ts';
import { PriceReplay } from './price-replay.tsx';
import { useFormName, useMarginText, usePriceText } from './price-text.ts';
import classes from './prices.module.css';
import { QuotePreview } from './quote-preview.tsx';
import { useAllPrices } from './use-prices.ts';

/** The price being edited; `model` is empty for a new one. `pluginKey` `*` means every plugin. */
export type PriceSubject = { pluginKey: string; model: string; expression: string; summary: Price['summary'] };

type PriceValues = Omit<PriceSubject, 'summary'>;

type PriceDialogProps = { subject: PriceSubject | null; onClose(): void };

/** Edits a price and previews it for a sample request. */
export function PriceDialog({ subject, onClose }: PriceDialogProps) {
  const { t } = useTranslation();
  return (
    <FormDialog
      isOpen={subject !== null}
      onClose={onClose}
      size="xl"
      title={subject?.model ? t('prices.editOf', { model: subject.model }) : t('prices.add')}
    >
      {subject !== null && <PriceForm subject={subject} onClose={onClose} />}
    </FormDialog>
  );
}

function PriceForm({ subject, onClose }: { subject: PriceSubject; onClose(): void }) {
  const { t } = useTranslation();
  const plugins = useLocalisedQuery<PluginSummary[]>('/api/plugin/task');
  const say = usePriceText();
  const isNew = subject.model === '';
  const change = useApiMutation<PriceValues>({
    request: ({ pluginKey, model, expression }) => ({
      method: 'PUT',
      path: '/api/price',
      body: { plugin_key: pluginKey, model, expression },
    }),
    invalidates: ['/api/price', '/api/model', '/api/attention'],
    onSuccess: (_answer, { model }) => {
      notifySuccess(t('prices.saved', { model }));
      onClose();
    },
  });
  const form = useForm<PriceValues>({
    initial: { pluginKey: subject.pluginKey, model: subject.model, expression: subject.expression },
    validate: ({ model, expression }) => ({
      model: model.trim() === '' ? t('prices.modelMissing') : null,
      expression: expression.trim() === '' ? t('prices.expressionMissing') : null,
    }),
    toVariables: ({ pluginKey, model, expression }) => ({
      pluginKey,
      model: model.trim(),
      expression: expression.trim(),
    }),
    change,
  });
  const { pluginKey, model, expression } = form.values;
  const plugin = plugins.data?.find((each) =>
    pluginKey === '*' ? (each.meta?.models ?? []).includes(model) : each.key === pluginKey,
  );
  const fields = Object.keys(plugin?.meta?.usageSchema ?? {});
  const models = useModelChoices(pluginKey);
  const isEdited = !isNew && pluginKey === subject.pluginKey;
  const replaced = useAllPrices().data?.find(
    (price) => !isEdited && price.plugin_key === pluginKey && price.model === model.trim(),
  );

  return (
    <form onSubmit={form.submit} noValidate>
      <Stack gap="lg">
        {form.error !== null && <ErrorNotice error={form.error} />}
        <Group grow align="flex-start" gap="lg" preventGrowOverflow={false}>
          {isNew && (
            <Autocomplete
              {...form.bind('model')}
              onChange={(name) => form.set('model', name)}
              label={t('prices.model')}
              placeholder={t('prices.modelPlaceholder')}
              data={models}
              limit={50}
              openOnFocus={false}
              spellCheck={false}
              autoCapitalize="none"
              rightSection={<Combobox.Chevron />}
              rightSectionPointerEvents="none"
              data-autofocus
              miw={220}
            />
          )}
          <PricePluginSelect
            plugins={plugins.data ?? []}
            value={pluginKey}
            onChange={(key) => form.set('pluginKey', key)}
          />
        </Group>
        {model.trim() === '' ? (
          <Text size="sm" c="dimmed">
            {t('prices.chooseModel')}
          </Text>
        ) : (
          <PriceInput form={form} subject={subject} fields={fields}>
            {(isFormula) => (
              <>
                {replaced && (
                  <Alert color="yellow" variant="light" role="status">
                    {t('prices.replaces', { price: say(replaced.summary, replaced.facts) })}
                  </Alert>
                )}
                <QuotePreview
                  pluginKey={pluginKey}
                  model={model}
                  expression={expression}
                  schema={plugin?.meta?.usageSchema ?? {}}
                  examples={plugin?.meta?.usageExamples ?? []}
                  isFormula={isFormula}
                />
              </>
            )}
          </PriceInput>
        )}
        {model.trim() !== '' && expression.trim() !== '' && expression !== subject.expression && (
          <PriceReplay tried={{ prices: [{ plugin_key: pluginKey, model: model.trim(), expression }] }} />
        )}
        <FormDialogButtons
          action={t('app.save')}
          isPending={form.isPending}
          isDisabled={model.trim() === '' || !form.isDirty}
        />
      </Stack>
    </form>
  );
}

/** Models to choose from: those that a channel offers without a price come first. */
function useModelChoices(pluginKey: string): { group: string; items: string[] }[] {
  const { t } = useTranslation();
  const unpriced = useApiQuery<UnpricedPluginModels[]>('/api/price/missing');
  const sheet = useApiQuery<PriceSheet>('/api/price/sheet');
  const isMeant = (each: { plugin_key: string }): boolean => pluginKey === '*' || each.plugin_key === pluginKey;
  const missing = (unpriced.data ?? []).filter(isMeant).flatMap(({ models }) => models);
  const first = new Set(missing.filter(({ offered }) => offered).map(({ model }) => model));
  const all = (sheet.data ?? []).filter(isMeant).flatMap(({ models }) => models.map(({ model }) => model));
  const rest = [...new Set(all)].filter((model) => !first.has(model));
  return [
    { group: t('prices.missing'), items: [...first] },
    { group: t('prices.modelsOther'), items: rest },
  ].filter(({ items }) => items.length > 0);
}

type PriceInputProps = {
  form: Form<PriceValues>;
  subject: PriceSubject;
  fields: readonly string[];
  /** What follows, told whether the price is an expression. */
  children(isFormula: boolean): ReactNode;
};

/** What the price counts and its amounts; an expression where they cannot say it. */
function PriceInput({ form, subject, fields, children }: PriceInputProps) {
  const { t } = useTranslation();
  const say = usePriceText();
  const formatMargin = useMarginText();
  const sheet = useApiQuery<PriceSheet>('/api/price/sheet');
  const [edited, setEdited] = useState<PriceDraft | null>(null);
  const { pluginKey, expression } = form.values;
  const model = form.values.model.trim();
  const plugin = sheet.data?.find(({ plugin_key: key, models }) =>
    pluginKey === '*' ? models.some((each) => each.model === model) : key === pluginKey,
  );
  const facts = plugin?.facts ?? [];
  const forms = plugin === undefined ? [] : listForms(facts);
  const formName = useFormName(facts);
  const draft = edited ?? toDraft(subject.expression === '' ? null : subject, forms);
  const chosen = forms.find(({ id }) => id === draft.form);
  const list = plugin?.models.find((each) => each.model === model)?.list_price ?? null;
  const margin = formatMargin(compareWithList(draft, list, forms));
  const change = (next: PriceDraft): void => {
    setEdited(next);
    if (next.form !== expressionForm) form.set('expression', toExpression(next, forms) ?? '');
  };
  if (sheet.isPending) return null;
  return (
    <>
      <Stack gap="xs">
        <div className={forms.length > 0 && chosen ? classes.simplePrice : undefined}>
          {forms.length > 0 && (
            <NativeSelect
              label={t('prices.table.formOf', { model })}
              value={chosen?.id ?? expressionForm}
              onChange={({ currentTarget }) => change({ ...draft, expression, form: currentTarget.value })}
              data={[
                ...forms.map((each) => ({ value: each.id, label: formName(each) })),
                { value: expressionForm, label: t('prices.table.expression') },
              ]}
            />
          )}
          {chosen ? (
            <div className={classes.amounts}>
              {(chosen.by?.values ?? [plainAmount]).map((value) => (
                <MoneyField
                  key={value}
                  label={value === plainAmount ? t('prices.expression') : value}
                  error={form.readError('expression')}
                  value={draft.amounts[value] ?? ''}
                  onChange={(amount) => change({ ...draft, amounts: { ...draft.amounts, [value]: amount } })}
                />
              ))}
            </div>
          ) : (
            <Textarea
              {...form.bind('expression')}
              label={t('prices.expression')}
              description={
                fields.length === 0
                  ? t('prices.expressionHint')
                  : t('prices.expressionFields', { fields: fields.map((name) => `u("${name}")`).join(', ') })
              }
              placeholder={fields.length === 0 ? '0.05' : `0.05 * u("${fields[0]}")`}
              autosize
              minRows={2}
              maxRows={8}
              spellCheck={false}
              autoCapitalize="none"
              styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
            />
          )}
        </div>
        {list !== null && (
          <Text size="sm" c="dimmed">
            {t('prices.table.list', { price: say(list.summary, facts) })}
            {margin !== null && ` · ${t('sheet.margin')} ${margin}`}
          </Text>
        )}
      </Stack>
      {children(chosen === undefined)}
    </>
  );
}

type PricePluginSelectProps = { plugins: readonly PluginSummary[]; value: string; onChange(key: string): void };

/** One plugin, or every plugin that has the model. */
function PricePluginSelect({ plugins, value, onChange }: PricePluginSelectProps) {
  const { t } = useTranslation();
  return (
    <Select
      label={t('prices.appliesTo')}
      data={[
        { value: '*', label: t('prices.everyPlugin') },
        ...plugins.map(({ key, meta }) => ({ value: key, label: meta?.name ?? key })),
      ]}
      value={value}
      onChange={(key) => onChange(key ?? '*')}
      allowDeselect={false}
      searchable
      miw={220}
    />
  );
}
