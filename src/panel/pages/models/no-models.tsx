import { Button, Group } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { roles, useRole } from '../../session/roles.ts';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { AddDemoChannel } from '../home/first-steps.tsx';

/** Instead of a list of models: what the reader can do about it. */
export function NoModels() {
  const { t } = useTranslation();
  const isAdmin = useRole() >= roles.admin;
  return (
    <EmptyState
      heading={t('models.none')}
      text={t(isAdmin ? 'models.noneAdmin' : 'models.noneText')}
      action={
        isAdmin ? (
          <Group gap="sm" justify="center">
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
