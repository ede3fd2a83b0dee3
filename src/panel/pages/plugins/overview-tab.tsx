import { Anchor, Button, Code, Group, MultiSelect, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import {
  hasPrices,
  newChannelPath,
  pluginDependentPaths,
  pluginPath,
  pluginPricesPath,
} from '../../api/plugin-paths.ts';
import type { ChannelPage, PluginDetail, PluginPrices, PluginSummary, PluginVersion } from '../../api/types.ts';
import { localise } from '../../i18n/texts.ts';
import { useApiMutation, useApiQuery } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { useForm } from '../../ui/form/use-form.ts';
import { ExternalLink } from '../../ui/page/links.tsx';
import { Columns, Section } from '../../ui/page/section.tsx';
import { readSource } from '../channels/channel-form-values.ts';
import { type UsageField, usageFieldLabel } from '../prices/usage-field.ts';
import { MoveNotice } from './move-page.tsx';
import { PermissionSection, readHost } from './permission-list.tsx';
import { PluginState } from './plugin-state.tsx';
import classes from './plugins.module.css';

/** What has a section of its own on the page. */
const saidBelow: ReadonlySet<string> = new Set(['models', 'protocols', 'routes']);

type PluginProps = { plugin: PluginSummary };

/** The channels that use the plugin. */
function usePluginChannels({ key, channel_count: count }: PluginSummary): ChannelPage['items'] {
  const channels = useApiQuery<ChannelPage>('/api/channel?page_size=100', { enabled: count > 0 });
  return (channels.data?.items ?? []).filter((channel) => [key, `gateway:${key}`].includes(readSource(channel)));
}

/** What the version that serves may do, and which channels send their keys to other hosts. */
function PluginPermissions({ plugin }: PluginProps) {
  const { data } = useApiQuery<PluginDetail>(pluginPath(plugin.key));
  const channels = usePluginChannels(plugin);
  if (data === undefined || data.permissions.length === 0) return null;
  const gained = data.permissions.filter(({ code }) => !saidBelow.has(code));
  const declared = new Set(gained.flatMap(({ values }) => values).map(readHost));
  const overrides = channels
    .map(({ name, base_url: address }) => ({ channel: name, host: readHost(address) }))
    .filter(({ host }) => host !== '' && !declared.has(host));
  return gained.length > 0 && <PermissionSection {...{ changes: { gained, lost: [], kept: [] }, overrides }} isNew />;
}

/** The channels that use the plugin, and the way to one more. */
function PluginChannels({ plugin }: PluginProps) {
  const { t } = useTranslation();
  return (
    <div className={classes.links}>
      {usePluginChannels(plugin)
        .slice(0, mostChannels)
        .map(({ id, name }) => (
          <Anchor key={id} component={Link} to={`/channels/${id}`} size="sm">
            {name}
          </Anchor>
        ))}
      <Button component={Link} to={newChannelPath(plugin.key)} size="xs" variant="default">
        {t('channels.add')}
      </Button>
    </div>
  );
}

/** Where clients reach what speaks a protocol of OpenAI. */
const protocolEndpoints = {
  proto_video: 'POST /v1/videos',
  proto_image: 'POST /v1/images/generations',
  proto_responses: 'POST /v1/responses',
} as const;

/** Channels that are named. */
const mostChannels = 8;

/** A plugin's metadata, the hosts it may reach and its endpoints. */
export function OverviewTab({ plugin }: { plugin: PluginSummary }) {
  const { t } = useTranslation();
  const { meta } = plugin;
  if (meta === null) return <PluginState plugin={plugin} />;
  const profiles = [
    ...(meta.usageProfiles ?? []).map(({ models, schema }) => ({ models, schema })),
    { models: [], schema: meta.usageSchema ?? {} },
  ].filter(({ schema }) => Object.keys(schema).length > 0);
  return (
    <Stack gap="xl">
      {plugin.takes_place_of !== null && <MoveNotice from={plugin.takes_place_of} to={plugin.key} />}
      <Columns
        main={
          <>
            <Section heading={t('plugins.about')}>
              <dl className={classes.facts}>
                {plugin.runtime_status !== 'registered' && (
                  <>
                    <dt>{t('plugins.state')}</dt>
                    <dd>
                      <PluginState plugin={plugin} />
                    </dd>
                  </>
                )}
                <dt>{t('plugins.channels')}</dt>
                <dd>
                  <PluginChannels plugin={plugin} />
                </dd>
                <dt>{t('plugins.version')}</dt>
                <dd>{plugin.version}</dd>
                <dt>{t('plugins.author')}</dt>
                <dd>
                  {meta.author.url === undefined ? (
                    meta.author.name
                  ) : (
                    <ExternalLink address={meta.author.url} name={meta.author.name} />
                  )}
                </dd>
                {meta.website !== undefined && (
                  <>
                    <dt>{t('plugins.website')}</dt>
                    <dd>
                      <ExternalLink address={meta.website} />
                    </dd>
                  </>
                )}
                {plugin.remark !== '' && (
                  <>
                    <dt>{t('plugins.upload.remark')}</dt>
                    <dd>{plugin.remark}</dd>
                  </>
                )}
                <dt>{t('plugins.fetchMode')}</dt>
                <dd>{t(meta.fetchMode === 'batch' ? 'plugins.fetchMode.batch' : 'plugins.fetchMode.per_task')}</dd>
              </dl>
            </Section>
            <PluginPermissions plugin={plugin} />
            <NarrowModels plugin={plugin} models={meta.models} />
          </>
        }
        side={
          <>
            <Section heading={t('plugins.entrances')} intro={t('plugins.entrancesIntro')}>
              <ul className={classes.changes}>
                <li>
                  <Code>POST /v1/tasks/{plugin.key}</Code>
                </li>
                {(meta.protocols ?? []).map((claim) => {
                  const name = typeof claim === 'string' ? claim : claim.name;
                  return (
                    <li key={name}>
                      <Code>{protocolEndpoints[name]}</Code>
                      <Text size="sm" c="dimmed" component="span">
                        {t('plugins.protocol')}
                      </Text>
                    </li>
                  );
                })}
                {(meta.routes ?? []).map(({ method, path }) => (
                  <li key={`${method} ${path}`}>
                    <Code>{`${method} ${path}`}</Code>
                  </li>
                ))}
              </ul>
            </Section>
            {profiles.length > 0 && (
              <Section heading={t('plugins.usage')} intro={t('plugins.usageIntro')}>
                {profiles.map(({ models, schema }) => (
                  <Stack key={models.join()} gap="xs">
                    {profiles.length > 1 && (
                      <Text fw={600} size="sm">
                        {models.length === 0 ? t('plugins.usageOthers') : models.join(', ')}
                      </Text>
                    )}
                    <UsageFacts plugin={plugin} schema={schema} />
                  </Stack>
                ))}
              </Section>
            )}
          </>
        }
      />
    </Stack>
  );
}

type UsageFactsProps = { plugin: PluginSummary; schema: Readonly<Record<string, UsageField>> };

/** By their labels, in the short words of bills; one without has its description. */
function UsageFacts({ plugin, schema }: UsageFactsProps) {
  const { t, i18n } = useTranslation();
  const { language } = i18n;
  const prices = useApiQuery<PluginPrices>(pluginPricesPath(plugin.key), { enabled: hasPrices(plugin) });
  const findLabel = (name: string): string =>
    localise(prices.data?.facts.find((fact) => fact.name === name)?.label, language);
  return (
    <dl className={classes.facts}>
      {Object.entries(schema).map(([name, field]) => (
        <div key={name} style={{ display: 'contents' }}>
          <dt>
            <Code>{name}</Code>
          </dt>
          <dd>
            {findLabel(name) || localise(field.description, language)}
            <Text size="sm" c="dimmed">
              {usageFieldLabel(field, { t, language })}
            </Text>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Restricts the models that the plugin serves. */
function NarrowModels({ plugin, models }: { plugin: PluginSummary; models: readonly string[] }) {
  const { t } = useTranslation();
  const change = useApiMutation<string[] | null, PluginVersion>({
    request: (wanted) => ({ method: 'PUT', path: `${pluginPath(plugin.key)}/models`, body: { models: wanted } }),
    invalidates: pluginDependentPaths,
    onSuccess: (_, wanted) => {
      notifySuccess(t('app.saved'));
      form.reset({ models: wanted ?? [...models] });
    },
  });
  const form = useForm({
    initial: { models: plugin.narrowed_models ?? [...models] },
    toVariables: (values) => (values.models.length === models.length ? null : values.models),
    validate: (values) => ({ models: values.models.length === 0 ? t('plugins.narrow.none') : null }),
    change,
  });
  return (
    <Section heading={t('plugins.models')} intro={t('plugins.narrow.intro')}>
      <form onSubmit={form.submit} noValidate>
        <Stack gap="md">
          {form.error !== null && <ErrorNotice error={form.error} />}
          <MultiSelect
            {...form.bindValue('models')}
            label={t('plugins.narrow.label')}
            data={[...models]}
            searchable
            hidePickedOptions
          />
          <Group gap="sm" justify="flex-end">
            <Button variant="default" onClick={() => form.set('models', [...models])}>
              {t('plugins.narrow.all')}
            </Button>
            <Button type="submit" loading={form.isPending} disabled={!form.isDirty}>
              {t('app.save')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}
