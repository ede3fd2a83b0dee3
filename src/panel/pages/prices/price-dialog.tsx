import { Alert, Autocomplete, Group, Select, Stack, Textarea, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { PluginSummary } from '../../api/types.ts';
import { useApiMutation, useLocalisedQuery } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { FormDialog, FormDialogButtons } from '../../ui/form/form-dialog.tsx';
import { useForm } from '../../ui/form/use-form.ts';
import { PriceReplay } from './price-replay.tsx';
import { usePriceText } from './price-text.ts';
import classes from './prices.module.css';
import { QuotePreview } from './quote-preview.tsx';
import { useAllPrices } from './use-prices.ts';

/** The price being edited; `model` is empty for a new one. `pluginKey` `*` means every plugin. */
export type PriceSubject = { pluginKey: string; model: string; expression: string };

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
  const change = useApiMutation<PriceSubject>({
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
  const form = useForm<PriceSubject>({
    initial: subject,
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
  const models = [
    ...new Set(
      (plugins.data ?? []).flatMap(({ key, meta }) =>
        pluginKey === '*' || key === pluginKey ? (meta?.models ?? []) : [],
      ),
    ),
  ];
  const isEdited = !isNew && pluginKey === subject.pluginKey;
  const replaced = useAllPrices().data?.find(
    (price) => !isEdited && price.plugin_key === pluginKey && price.model === model.trim(),
  );

  return (
    <form onSubmit={form.submit} noValidate>
      <Stack gap="lg">
        {form.error !== null && <ErrorNotice error={form.error} />}
        <Group grow align="flex-start" gap="lg" preventGrowOverflow={false}>
          {isNew ? (
            <Autocomplete
              {...form.bind('model')}
              onChange={(name) => form.set('model', name)}
              label={t('prices.model')}
              data={models}
              limit={50}
              openOnFocus={false}
              spellCheck={false}
              autoCapitalize="none"
              data-autofocus
              miw={220}
            />
          ) : (
            <TextInput {...form.bind('model')} label={t('prices.model')} disabled miw={220} />
          )}
          <PricePluginSelect
            plugins={plugins.data ?? []}
            value={pluginKey}
            onChange={(key) => form.set('pluginKey', key)}
          />
        </Group>
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
          data-autofocus={isNew ? undefined : true}
        />
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
        />
        {model.trim() !== '' && expression.trim() !== '' && (
          <PriceReplay tried={{ prices: [{ plugin_key: pluginKey, model: model.trim(), expression }] }} />
        )}
        <div className={classes.footer}>
          <FormDialogButtons action={t('app.save')} isPending={form.isPending} />
        </div>
      </Stack>
    </form>
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
