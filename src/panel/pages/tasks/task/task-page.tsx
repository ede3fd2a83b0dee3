import { Button, Menu } from '@mantine/core';
import { IconChevronDown, IconDots, IconFileDescription } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useParams } from 'react-router';
import { errorMessage } from '../../../api/error-message.ts';
import type { TaskDetail } from '../../../api/types.ts';
import { roles, useRole } from '../../../session/roles.ts';
import { useGatewayStatus, useSessionSnapshot } from '../../../session/session-context.tsx';
import { useApiMutation } from '../../../session/use-api.ts';
import { type CodeLanguage, codeGenerators, codeLanguages, keyPlaceholder } from '../../../ui/code/generate-code.ts';
import { copyText } from '../../../ui/display/copy-field.tsx';
import { ResourceNotFound } from '../../../ui/display/empty-state.tsx';
import { ErrorNotice } from '../../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../../ui/display/notify.ts';
import { QueryResult } from '../../../ui/display/query-result.tsx';
import { useFormat } from '../../../ui/display/use-format.ts';
import { useConfirm } from '../../../ui/form/confirm-dialog.tsx';
import { BackLink } from '../../../ui/page/links.tsx';
import { Page, useScopedNavigate } from '../../../ui/page/page.tsx';
import { Section } from '../../../ui/page/section.tsx';
import { isFinished, readTaskBody, sentAt } from '../read-task.ts';
import { TaskBill } from './task-bill.tsx';
import { TaskComparison } from './task-comparison.tsx';
import { TaskFacts } from './task-facts.tsx';
import { TaskFailure, TaskHeadline } from './task-headline.tsx';
import { TaskInputs } from './task-inputs.tsx';
import classes from './task-page.module.css';
import { TaskRaw } from './task-raw.tsx';
import { TaskResult } from './task-result.tsx';
import { TaskTimeline, withStart } from './task-timeline.tsx';
import { TaskWebhooks } from './task-webhooks.tsx';
import { useTask } from './use-task.ts';
import { useTaskActions } from './use-task-actions.tsx';

/** `/tasks/:id` */
export function TaskPage() {
  const { id = '' } = useParams();
  // The key remounts the page for another task, so that no state is left over.
  return <TaskById key={id} id={id} />;
}

function TaskById({ id }: { id: string }) {
  const { t } = useTranslation();
  const task = useTask(id);
  const back = <BackLink to="/tasks">{t('task.back')}</BackLink>;
  if (task.data !== undefined) return <LoadedTask task={task.data} error={task.error} back={back} />;
  return (
    <Page heading={t('tasks.column.task')} back={back}>
      <QueryResult
        query={task}
        notFound={
          <ResourceNotFound
            heading={t('task.gone')}
            text={t('task.goneText')}
            list={{ to: '/tasks', name: 'task.back' }}
          />
        }
      >
        {() => null}
      </QueryResult>
    </Page>
  );
}

/** Characters of a prompt in the heading. */
const maxHeading = 90;

function shorten(prompt: string): string {
  const line = prompt.replaceAll(/\s+/g, ' ').trim();
  if (line.length <= maxHeading) return line;
  const cut = line.slice(0, maxHeading);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), maxHeading / 2)).trimEnd()}…`;
}

type LoadedTaskProps = {
  task: TaskDetail;
  /** Why the last refetch failed. */
  error: Error | null;
  back: ReactNode;
};

function LoadedTask({ task, error, back }: LoadedTaskProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const { bundle } = useSessionSnapshot();
  const isOwn = task.user_id === undefined || task.user_id === bundle?.user.id;
  const { buttons, notice, help } = useTaskActions(task, isOwn);
  const showsCase = useRole() >= roles.admin && task.status === 'FAILURE';
  const heading = shorten(task.input) || t('task.title', { model: task.model });
  return (
    <Page
      heading={heading}
      longHeading
      intro={`${task.model} · ${t('task.sent', { ago: format.ago(sentAt(task)) })}`}
      back={back}
      actions={
        <>
          {buttons}
          {showsCase && (
            <Button
              component={Link}
              to={casePath(task)}
              variant="default"
              visibleFrom="md"
              leftSection={<IconFileDescription size={17} stroke={1.6} aria-hidden="true" />}
            >
              {t('case.open')}
            </Button>
          )}
          <MoreMenu task={task} isOwn={isOwn} hasCaseButton={showsCase} />
        </>
      }
    >
      {error !== null && <ErrorNotice error={error} />}
      <div className={classes.columns}>
        <div className={classes.main}>
          <Section heading={t('task.result')}>
            <TaskHeadline task={task} help={help} />
            {task.status === 'FAILURE' ? <TaskFailure task={task} /> : <TaskResult task={task} isPrimary />}
            {notice}
          </Section>
          <TaskInputs task={task} heading={heading} />
          {task.repeats !== null && <TaskComparison task={task} repeats={task.repeats} />}
          <TaskTimeline
            timeline={withStart(task.timeline, task.submit_time > 0 ? task.start_time : 0)}
            failReason={task.status === 'FAILURE' ? task.fail_reason : ''}
          />
          <TaskWebhooks taskId={task.id} isRunning={!isFinished(task)} />
          <TaskRaw task={task} />
        </div>
        <div className={classes.side}>
          <TaskBill task={task} />
          <TaskFacts task={task} />
        </div>
      </div>
    </Page>
  );
}

const casePath = ({ id }: TaskDetail): string => `/case/task/${encodeURIComponent(id)}`;

type MoreMenuProps = { task: TaskDetail; isOwn: boolean; hasCaseButton: boolean };

/**
 * The case file, copies of the id, the links, and the request as a program without a key, and how
 * the owner deletes the task.
 */
function MoreMenu({ task, isOwn, hasCaseButton }: MoreMenuProps) {
  const { t, i18n } = useTranslation();
  const confirm = useConfirm();
  const navigate = useScopedNavigate();
  const remove = useApiMutation<void>({
    request: () => ({ method: 'DELETE', path: `/api/task/${encodeURIComponent(task.id)}` }),
    invalidates: ['/api/task?'],
    onSuccess: () => navigate('/tasks'),
    onError: (error) => notifySuccess(errorMessage(error, t, i18n.language)),
  });
  const confirmAndDelete = async (): Promise<void> => {
    const question = {
      title: t('tasks.bulk.delete.title', { count: 1, shown: '1' }),
      text: t('tasks.bulk.delete.text'),
      action: t('tasks.bulk.delete'),
    };
    if (await confirm(question)) remove.mutate();
  };
  const status = useGatewayStatus();
  const copy = async (text: string): Promise<void> =>
    notifySuccess(t((await copyText(text)) ? 'app.copied' : 'app.copyFailed'));
  const body = readTaskBody(task);
  const origin = (status.data?.server_address || window.location.origin).replace(/\/+$/, '');
  const url = `${origin}/v1/tasks/${encodeURIComponent(task.platform)}`;
  return (
    <Menu width={230}>
      <Menu.Target>
        <Button
          variant="default"
          leftSection={<IconDots size={17} stroke={1.6} aria-hidden="true" />}
          rightSection={<IconChevronDown size={16} stroke={1.6} aria-hidden="true" />}
        >
          {t('app.more')}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item component={Link} to={casePath(task)} {...(hasCaseButton ? { hiddenFrom: 'md' } : {})}>
          {t('case.open')}
        </Menu.Item>
        <Menu.Divider {...(hasCaseButton ? { hiddenFrom: 'md' } : {})} />
        <Menu.Item onClick={() => void copy(task.id)}>{t('task.copy.id')}</Menu.Item>
        <Menu.Item onClick={() => void copy(window.location.href)}>{t('task.copy.page')}</Menu.Item>
        {task.input !== '' && <Menu.Item onClick={() => void copy(task.input)}>{t('task.copy.prompt')}</Menu.Item>}
        {task.artifacts.length > 0 && (
          <Menu.Item onClick={() => void copy(task.artifacts.map(({ content_url }) => content_url).join('\n'))}>
            {t('task.copy.results')}
          </Menu.Item>
        )}
        {body !== null && (
          <>
            <Menu.Divider />
            {Object.entries(codeLanguages).map(([language, name]) => (
              <Menu.Item
                key={language}
                onClick={() =>
                  void copy(codeGenerators[language as CodeLanguage]({ url, body, apiKey: keyPlaceholder }))
                }
              >
                {t('task.copy.as', { language: name })}
              </Menu.Item>
            ))}
          </>
        )}
        {isOwn && isFinished(task) && (
          <>
            <Menu.Divider />
            <Menu.Item c="var(--mantine-color-error)" onClick={() => void confirmAndDelete()}>
              {t('tasks.bulk.delete')}
            </Menu.Item>
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
