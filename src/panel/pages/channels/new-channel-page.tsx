import { Button, Group } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link, useSearchParams } from 'react-router';
import type { ChannelChoices, SavedChannel } from '../../api/types.ts';
import { useApiMutation, useLocalisedQuery } from '../../session/use-api.ts';
import { notifySuccess } from '../../ui/display/notify.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useForm } from '../../ui/form/use-form.ts';
import { BackLink } from '../../ui/page/links.tsx';
import { Page, useScopedNavigate } from '../../ui/page/page.tsx';
import { ChannelForm } from './channel-form.tsx';
import {
  type ChannelValues,
  emptyChannel,
  findPlugin,
  type PluginChoice,
  toChannelBody,
  validateChannel,
} from './channel-form-values.ts';

export function NewChannelPage() {
  const { t } = useTranslation();
  const choices = useLocalisedQuery<ChannelChoices>('/api/channel/choices');
  return (
    <Page
      heading={t('channels.add')}
      intro={t('channels.newIntro')}
      back={<BackLink to="/channels">{t('nav.channels')}</BackLink>}
      narrow
    >
      <QueryResult query={choices}>{(data) => <NewChannel choices={data} />}</QueryResult>
    </Page>
  );
}

/** What the form suggests for a plugin. */
const ofPlugin = ({ key, name, models, not_found_grace_seconds: grace }: PluginChoice): ChannelValues => ({
  ...{ ...emptyChannel, task_plugin_key: key, name, models: [...models] },
  not_found_grace_seconds: String(grace || ''),
});

function NewChannel({ choices }: { choices: ChannelChoices }) {
  const { t } = useTranslation();
  const navigate = useScopedNavigate();
  const change = useApiMutation<Record<string, unknown>, SavedChannel>({
    request: (body) => ({ method: 'POST', path: '/api/channel', body }),
    invalidates: ['/api/channel'],
    onSuccess: ({ id, name }) => {
      notifySuccess(t('channels.made', { name }));
      navigate(`/channels/${id}?new=1`, { replace: true });
    },
  });
  const plugin = findPlugin(choices, useSearchParams()[0].get('plugin') ?? '');
  const form = useForm({
    initial: plugin === undefined ? emptyChannel : ofPlugin(plugin),
    validate: (values) =>
      validateChannel(t, { values, stored: null, plugin: findPlugin(choices, values.task_plugin_key) }),
    toVariables: (values) => toChannelBody(values, null),
    change,
  });
  return (
    <ChannelForm
      form={form}
      choices={choices}
      stored={null}
      actions={
        <Group justify="flex-end" gap="sm">
          <Button component={Link} to="/channels" variant="default">
            {t('app.cancel')}
          </Button>
          <Button type="submit" loading={form.isPending}>
            {t('channels.add')}
          </Button>
        </Group>
      }
    />
  );
}
