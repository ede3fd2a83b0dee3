import { Button, Group } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { roles, useRole } from '../../session/roles.ts';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { AddDemoChannel } from '../home/first-steps.tsx';

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
