import { Button, Group } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { DemoChannel } from '../../api/types.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useApiMutation } from '../../session/use-api.ts';
import { EmptyState } from '../display/empty-state.tsx';
import { ErrorNotice } from '../display/error-notice.tsx';
import { notifySuccess } from '../display/notify.ts';

/** Instead of a list of models, or of their tasks: what the reader can do about it. */
export function NoModels({ isOfTasks = false }) {
  const { t } = useTranslation();
  const isAdmin = useRole() >= roles.admin;
  const adminText = isOfTasks ? 'tasks.emptyNoModels' : 'models.noneAdmin';
  return (
    <EmptyState
      heading={t(isOfTasks ? 'tasks.empty' : 'models.none')}
      text={t(isAdmin ? adminText : 'models.noneText')}
      action={
        isAdmin ? (
          <Group gap="sm" justify="center" wrap="wrap-reverse">
            <AddDemoChannel />
            <Button component={Link} to="/channels/new">
              {t('home.first.channelAction')}
            </Button>
          </Group>
        ) : undefined
      }
    />
  );
}

/** For root: adds a channel with the built-in demo vendor, which needs no account. */
export function AddDemoChannel() {
  const { t } = useTranslation();
  const isRoot = useRole() >= roles.root;
  const createChannel = useApiMutation<void, DemoChannel>({
    request: () => ({ method: 'POST', path: '/api/setup/demo-channel' }),
    invalidates: ['/api/channel', '/api/model', '/api/attention'],
    onSuccess: () => notifySuccess(t('home.first.demoDone')),
  });
  if (!isRoot) return null;
  return (
    <>
      {createChannel.isError && (
        <ErrorNotice error={createChannel.error} codeTexts={{ CHANNEL_DEMO_UNAVAILABLE: 'home.first.demoNone' }} />
      )}
      <Button variant="default" loading={createChannel.isPending} onClick={() => createChannel.mutate()}>
        {t('home.first.demoAction')}
      </Button>
    </>
  );
}
