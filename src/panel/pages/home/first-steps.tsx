import { Button, Group } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { ApiKeyPage, ChannelPage, TaskSummary } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useApiQuery } from '../../session/use-api.ts';
import { CopyField } from '../../ui/display/copy-field.tsx';
import { AddDemoChannel } from '../../ui/page/no-models.tsx';
import { Section } from '../../ui/page/section.tsx';
import type { PagedRows } from '../../ui/table/data-table.tsx';
import { latestTasksPath } from '../tasks/read-task.ts';
import classes from './home.module.css';

type Step = { text: TextKey; help: TextKey; action: TextKey; to: string; isDone: boolean };

/** Whether the reader has no task yet, so does not know their way; false while it is unknown. */
export const useIsNewcomer = (): boolean => useApiQuery<PagedRows<TaskSummary>>(latestTasksPath).data?.total === 0;

/** The first steps of somebody without a task; null while it is unknown which of them are done. */
function useFirstSteps(): readonly Step[] | null {
  const isAdmin = useRole() >= roles.admin;
  const channels = useApiQuery<ChannelPage>('/api/channel?page_size=1', { enabled: isAdmin });
  const keys = useApiQuery<ApiKeyPage>('/api/token?page_size=1');
  if (keys.data === undefined || (isAdmin && channels.data === undefined)) return null;
  const steps: Step[] = [
    {
      text: 'home.first.task',
      help: 'home.first.taskText',
      action: 'home.first.taskAction',
      to: '/playground',
      isDone: false,
    },
    {
      text: 'home.first.key',
      help: 'home.first.keyText',
      action: 'home.first.keyAction',
      to: '/keys/new',
      isDone: keys.data.total > 0,
    },
  ];
  if (channels.data !== undefined) {
    steps.unshift({
      text: 'home.first.channel',
      help: 'home.first.channelText',
      action: 'home.first.channelAction',
      to: '/channels/new',
      isDone: channels.data.total > 0,
    });
  }
  return steps;
}

type FirstStepsProps = { origin: string; onHide(): void };

/** Guides a new user to a first result and a first API call. */
export function FirstSteps({ origin, onHide }: FirstStepsProps) {
  const { t } = useTranslation();
  const steps = useFirstSteps();
  if (steps === null) return null;
  const next = steps.find(({ isDone }) => !isDone);
  // Without a channel there is no model to try or to call.
  const needsChannel = next?.to === '/channels/new';
  return (
    <Section
      heading={t('home.first')}
      actions={
        <Button
          variant="subtle"
          color="gray"
          size="xs"
          mr={-12}
          aria-label={t('home.first.hideLabel')}
          onClick={onHide}
        >
          {t('home.first.hide')}
        </Button>
      }
    >
      <ol className={classes.steps}>
        {steps.map((step) => (
          <li
            key={step.text}
            className={classes.step}
            data-done={step.isDone || undefined}
            data-later={(needsChannel && step !== next) || undefined}
          >
            <div>
              <h3>{t(step.text)}</h3>
              <p>{t(step.help)}</p>
            </div>
            {step.isDone ? (
              <span className={classes.done}>
                <IconCheck size={17} stroke={1.8} aria-hidden="true" />
                {t('home.first.done')}
              </span>
            ) : (
              (!needsChannel || step === next) && (
                <Group gap="sm" wrap="wrap-reverse">
                  {step.to === '/channels/new' && <AddDemoChannel />}
                  <Button component={Link} to={step.to} variant={step === next ? 'filled' : 'default'}>
                    {t(step.action)}
                  </Button>
                </Group>
              )
            )}
          </li>
        ))}
        <li className={classes.step} data-wide data-later={needsChannel || undefined}>
          <div>
            <h3>{t('home.first.call')}</h3>
            <p>{t(needsChannel ? 'home.first.callLater' : 'home.first.callText')}</p>
          </div>
          {!needsChannel && <CopyField text={`curl ${origin}/v1/models -H 'Authorization: Bearer YOUR_API_KEY'`} />}
        </li>
      </ol>
    </Section>
  );
}

const storageKey = 'taskgate.firstSteps';

/**
 * Whether the first steps were hidden in this browser: not everybody who runs a gateway submits
 * tasks.
 */
export function areStepsHidden(): boolean {
  try {
    return localStorage.getItem(storageKey) === 'hidden';
  } catch {
    return false;
  }
}

export function hideSteps(): void {
  try {
    localStorage.setItem(storageKey, 'hidden');
  } catch {
    // Storage is blocked: they stay hidden until the page is closed.
  }
}
