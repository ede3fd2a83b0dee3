import { Button } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { ChannelChoices, SavedChannel } from '../../api/types.ts';
import { useApi, useChange } from '../../api/use-api.ts';
import { Answer } from '../../ui/display/query-result.tsx';
import { notifyDone } from '../../ui/display/notify.ts';
import { useForm } from '../../ui/form/use-form.ts';
import { BackLink } from '../../ui/page/back-link.tsx';
import { Page } from '../../ui/page/page.tsx';
import { useNavigateHere } from '../../ui/page/use-scoped-navigate.ts';
import { ChannelForm } from './channel-form.tsx';
import { checkChannel, emptyChannel, pluginOf, readChannel } from './channel-form-values.ts';

export function NewChannelPage() {
  const { t } = useTranslation();
  const choices = useApi<ChannelChoices>('/api/channel/choices');
  return (
    <Page
      heading={t('channels.new')}
      intro={t('channels.newIntro')}
      back={<BackLink to="/channels">{t('nav.channels')}</BackLink>}
      narrow
    >
      <Answer query={choices}>{(data) => <NewChannel choices={data} />}</Answer>
    </Page>
  );
}

function NewChannel({ choices }: { choices: ChannelChoices }) {
  const { t } = useTranslation();
  const navigate = useNavigateHere();
  const change = useChange<Record<string, unknown>, SavedChannel>({
    request: (body) => ({ method: 'POST', path: '/api/channel', body }),
    stale: ['/api/channel'],
    onSuccess: ({ id, name }) => {
      notifyDone(t('channels.made', { name }));
      navigate(`/channels/${id}`, { replace: true });
    },
  });
  const form = useForm({
    initial: emptyChannel,
    check: (values) => checkChannel(t, values, null, pluginOf(choices, values.task_plugin_key)),
    read: (values) => readChannel(values, null),
    change,
  });
  return (
    <ChannelForm
      form={form}
      choices={choices}
      stored={null}
      submitLabel={t('channels.create')}
      actions={
        <Button component={Link} to="/channels" variant="default">
          {t('app.cancel')}
        </Button>
      }
    />
  );
}
