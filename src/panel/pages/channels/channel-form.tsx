import { Alert, Button, Stack, Switch, TagsInput, Textarea, TextInput } from '@mantine/core';
import { IconKey } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Channel, ChannelChoices } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { roles, useRole } from '../../session/roles.ts';
import { Collapsible } from '../../ui/display/collapsible.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { DecimalField } from '../../ui/form/decimal-field.tsx';
import { SaveBar } from '../../ui/form/save-bar.tsx';
import sideBySide from '../../ui/form/side-by-side.module.css';
import type { Form } from '../../ui/form/use-form.ts';
import { Section } from '../../ui/page/section.tsx';
import {
  type ChannelValues,
  findPlugin,
  type PluginChoice,
  sendsKeyElsewhere,
  toFormValues,
} from './channel-form-values.ts';
import { KeyInput, MappingInput, PluginSelect } from './channel-inputs.tsx';
import { ChannelLimits } from './channel-limits.tsx';
import { ChannelNetwork } from './channel-network.tsx';
import classes from './channels.module.css';

type ChannelFormProps = {
  form: Form<ChannelValues>;
  choices: ChannelChoices;
  /** null for a new channel. */
  stored: Channel | null;
  /** The stored keys, each of which is changed by itself. */
  keys?: ReactNode;
  /** The buttons of a new channel. */
  actions?: ReactNode;
};

/** What a base URL is good for, as far as the vendor is known. */
const helpWithAddress = (source: string, plugin: PluginChoice | undefined): TextKey =>
  source === '' ? 'channels.addressLater' : plugin?.base_url ? 'channels.addressHelp' : 'channels.addressHelpNone';

/** All fields of a channel. Rarely used ones are collapsed. */
export function ChannelForm({ form, choices, stored, keys, actions }: ChannelFormProps) {
  const { t } = useTranslation();
  const { values } = form;
  const role = useRole();
  const plugin = findPlugin(choices, values.task_plugin_key);
  const hasAdvancedFault = (['not_found_grace_seconds', 'settings'] as const).some((field) => form.readError(field));
  const hasHiddenFault = hasAdvancedFault || form.readError('model_mapping') !== null;

  const choosePlugin = (source: string): void => {
    const next = findPlugin(choices, source);
    const isUntouched = values.models.length === 0 || values.models.join() === (plugin?.models ?? []).join();
    if (values.name.trim() === '' || values.name === plugin?.name) form.set('name', next?.name ?? '');
    if (isUntouched) form.set('models', [...(next?.models ?? [])]);
    // Only suggested: what is saved is what the form shows.
    const suggested = (choice: typeof next): string => String(choice?.not_found_grace_seconds || '');
    if (stored === null && values.not_found_grace_seconds === suggested(plugin))
      form.set('not_found_grace_seconds', suggested(next));
    form.set('task_plugin_key', source);
  };

  const mapping = (
    <MappingInput
      rows={values.model_mapping}
      onChange={(rows) => form.set('model_mapping', rows)}
      error={form.readError('model_mapping')}
    />
  );
  const advanced = (
    <>
      <Section heading={t('channels.share')} intro={t('channels.shareHelp')}>
        <div className={sideBySide.fields}>
          <DecimalField
            label={t('channels.priority')}
            description={t('channels.priorityHelp')}
            {...form.bindValue('priority')}
          />
          <DecimalField
            label={t('channels.weight')}
            description={t('channels.weightHelp')}
            {...form.bindValue('weight')}
          />
        </div>
        <Switch label={t('channels.spill')} description={t('channels.spillHelp')} {...form.bindChecked('spill')} />
      </Section>

      <ChannelLimits form={form} />
      <Section heading={t('channels.advanced')}>
        {stored === null && mapping}
        <Collapsible label={t('channels.advancedNote')} forceOpen={hasAdvancedFault}>
          <Stack gap="lg">
            <DecimalField
              label={t('channels.notFoundGrace')}
              description={t('channels.notFoundGraceHelp')}
              {...form.bindValue('not_found_grace_seconds')}
            />
            {values.task_plugin_key === 'relay' && (
              <Switch
                label={t('channels.streamUsage')}
                description={t('channels.streamUsageHelp')}
                {...form.bindChecked('stream_usage')}
              />
            )}
            <DecimalField
              label={t('channels.balanceAlert')}
              description={t('channels.balanceAlertHelp')}
              {...form.bindValue('balance_alert_usd')}
            />
            <Textarea
              label={t('channels.balanceScript')}
              description={t('channels.balanceScriptHelp')}
              autosize
              minRows={3}
              maxRows={14}
              spellCheck={false}
              readOnly={role < roles.root}
              classNames={{ input: classes.code ?? '' }}
              {...form.bind('balance_script')}
            />
            <Textarea
              label={t('channels.settings')}
              description={t('channels.settingsHelp')}
              autosize
              minRows={3}
              maxRows={14}
              spellCheck={false}
              classNames={{ input: classes.code ?? '' }}
              {...form.bind('settings')}
            />
          </Stack>
        </Collapsible>
        <ChannelNetwork form={form} />
      </Section>
    </>
  );

  return (
    // Submits of dialogs inside `keys` bubble up here and are ignored.
    <form onSubmit={(event) => event.target === event.currentTarget && form.submit(event)} noValidate>
      <Stack gap="lg">
        <Section heading={t('channels.connection')}>
          <PluginSelect
            choices={choices}
            value={values.task_plugin_key}
            onChange={choosePlugin}
            error={form.readError('task_plugin_key')}
            inputRef={form.bind('task_plugin_key').ref}
          />
          {stored === null && <KeyInput form={form} hint={null} plugin={plugin} />}
          <div className={sideBySide.fields}>
            <TextInput
              label={t('channels.name')}
              description={t('channels.nameHelp')}
              required
              maxLength={64}
              {...form.bind('name')}
            />
            <TextInput
              label={t('channels.address')}
              description={t(helpWithAddress(values.task_plugin_key, plugin))}
              placeholder={plugin?.base_url || 'https://api.example.com'}
              inputMode="url"
              spellCheck={false}
              {...form.bind('base_url')}
            />
          </div>
          {stored !== null && sendsKeyElsewhere(values, stored) && values.key.trim() === '' && (
            <Alert color="yellow" variant="light" icon={<IconKey size={20} stroke={1.6} aria-hidden="true" />}>
              {t('channels.keyMoves')}
            </Alert>
          )}
          {stored !== null && stored.credentials.length === 1 && sendsKeyElsewhere(values, stored) && (
            <KeyInput form={form} hint={stored.key_hint} plugin={plugin} />
          )}
        </Section>
        {keys}

        <Section heading={t('channels.serves')}>
          <div>
            <TagsInput
              label={t('channels.models')}
              description={t(values.task_plugin_key === '' ? 'channels.modelsLater' : 'channels.modelsHelp')}
              required
              disabled={values.task_plugin_key === ''}
              data={[...(plugin?.models ?? [])]}
              splitChars={[',', ' ', '\n']}
              clearButtonProps={{ 'aria-label': t('channels.modelsClear') }}
              maxDropdownHeight={260}
              {...form.bindValue('models')}
            />
            {plugin?.models.some((model) => !values.models.includes(model)) && (
              <Button
                variant="subtle"
                size="xs"
                mt={8}
                onClick={() => form.set('models', [...new Set([...values.models, ...plugin.models])])}
              >
                {t('channels.modelsAll', { count: plugin.models.length, name: plugin.name })}
              </Button>
            )}
          </div>
          <TagsInput
            label={t('channels.groups')}
            description={t('channels.groupsHelp')}
            required
            data={choices.groups.map(({ name }) => name)}
            splitChars={[',', ' ']}
            {...form.bindValue('groups')}
          />
          {stored !== null && mapping}
        </Section>

        {stored === null ? (
          <Collapsible label={t('channels.more')} note={t('channels.advancedParts')} forceOpen={hasHiddenFault}>
            <Stack gap="lg">{advanced}</Stack>
          </Collapsible>
        ) : (
          advanced
        )}
        {stored === null && form.error !== null && <ErrorNotice error={form.error} />}
        {actions}
      </Stack>
      {stored !== null && (
        <SaveBar
          count={form.changed}
          isPending={form.isPending}
          error={form.error}
          onDiscard={() => form.reset(toFormValues(stored))}
        />
      )}
    </form>
  );
}
