import { Button, Text } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { createIdempotencyKey, isOutcomeKnown } from '../../../api/idempotency-key.ts';
import type { TaskDetail, TaskQuote } from '../../../api/types.ts';
import type { TextKey } from '../../../i18n/texts.ts';
import { useSession } from '../../../session/session-context.tsx';
import { useApiMutation } from '../../../session/use-api.ts';
import { ErrorNotice } from '../../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../../ui/display/notify.ts';
import { useFormat } from '../../../ui/display/use-format.ts';
import { useConfirm } from '../../../ui/form/confirm-dialog.tsx';
import { useScopedNavigate } from '../../../ui/page/page.tsx';
import { isFinished, isRefusedByVendor, readTaskBody, withShortFiles } from '../read-task.ts';

/** Longer than a vendor may take to accept a task. */
const retryTimeoutMs = 150_000;

const blockTexts: Readonly<Record<string, TextKey>> = {
  inputs_not_kept: 'task.inputsNotKept',
  inputs_gone: 'task.inputsGone',
};

const taskApiPath = (id: string): string => `/api/task/${encodeURIComponent(id)}`;

/** Runs an ended task again; `onDone` gets the id of the new one. */
export function useRetry(taskId: string, onDone: (id: string) => void) {
  // Repeating after a lost answer is charged once; after an answer it is a new request.
  const idempotencyKey = useRef(createIdempotencyKey());
  return useApiMutation<void, TaskDetail>({
    request: () => ({
      method: 'POST',
      path: `${taskApiPath(taskId)}/retry`,
      headers: { 'idempotency-key': idempotencyKey.current },
      timeoutMs: retryTimeoutMs,
    }),
    invalidates: ['/api/task?', '/api/user/self'],
    onSuccess: ({ id }) => {
      idempotencyKey.current = createIdempotencyKey();
      onDone(id);
    },
    onError: (error) => {
      if (isOutcomeKnown(error)) idempotencyKey.current = createIdempotencyKey();
    },
  });
}

/** What the request of a task reserves today, in quota; null where that is not known. */
export function useTodaysPrice(task: TaskDetail, isWanted: boolean): number | null {
  const session = useSession();
  const body = readTaskBody(task);
  const quote = useQuery({
    queryKey: ['quote', task.id],
    queryFn: () =>
      session.send<TaskQuote>({
        method: 'POST',
        path: '/api/task/quote',
        body: { plugin_key: task.platform, body: body && withShortFiles(body) },
      }),
    // A route of its own names the action, which a quote does not take.
    enabled: isWanted && body !== null && task.request?.action === '',
    retry: false,
  });
  return quote.data?.refused === null ? quote.data.quota : null;
}

type RetryButtonProps = {
  retry: ReturnType<typeof useRetry>;
  size?: 'xs' | 'sm';
  /** What the task reserved, in quota: about what it costs again. */
  cost?: number;
  /** What it costs today, where that is known. */
  price?: number | null;
  /** It is the usual next step. */
  isPrimary?: boolean;
};

export function RetryButton({ retry, size = 'sm', cost = 0, price = null, isPrimary = false }: RetryButtonProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const about = cost > 0 ? t('task.againFor', { amount: format.money(cost) }) : t('task.again');
  return (
    <Button
      variant={isPrimary ? 'filled' : 'default'}
      size={size}
      loading={retry.isPending}
      onClick={() => retry.mutate()}
    >
      {price === null ? about : price > 0 ? `${t('task.again')} · ${format.money(price)}` : t('task.again')}
    </Button>
  );
}

type TaskActions = {
  /** Shown in the page's heading. */
  buttons: ReactNode;
  /** Why an action is not possible, or what failed. */
  notice: ReactNode;
  /** What to know while the task has not ended. */
  help: TextKey;
};

/**
 * What the owner can do with a task: retry it, copy it to the playground, or cancel it before the
 * vendor has it.
 */
export function useTaskActions(task: TaskDetail, isOwn: boolean): TaskActions {
  const { t } = useTranslation();
  const navigate = useScopedNavigate();
  const confirm = useConfirm();
  const path = taskApiPath(task.id);
  const retry = useRetry(task.id, (id) => {
    notifySuccess(t('task.againDone'));
    navigate(`/tasks/${encodeURIComponent(id)}`);
  });
  const cancel = useApiMutation<void, TaskDetail>({
    request: () => ({ method: 'POST', path: `${path}/cancel` }),
    invalidates: [path, '/api/task?'],
    onSuccess: () => notifySuccess(t('task.cancelled')),
  });
  const price = useTodaysPrice(task, isOwn && task.retryable);
  // The actions have one row there.
  const isPhone = useMediaQuery('(max-width: 639px)', undefined, { getInitialValueInEffect: false }) === true;
  const confirmAndCancel = async (): Promise<void> => {
    const question = { title: t('task.cancelTitle'), text: t('task.cancelText'), action: t('task.cancel') };
    if (await confirm(question)) cancel.mutate();
  };

  if (!isOwn) return { buttons: null, notice: null, help: 'task.resultPending' };
  const ended = isFinished(task);
  // What the vendor refused would be refused again.
  const shouldRetry = task.status === 'FAILURE' && task.retryable && !isRefusedByVendor(task);
  const retryButton = task.retryable && (
    <RetryButton retry={retry} cost={task.bill.reserved} price={price} isPrimary={shouldRetry} />
  );
  const isWithVendor = task.timeline.some(({ kind, status }) => kind === 'transition' && status !== 'NOT_START');
  return {
    help: isWithVendor ? 'task.cannotCancel' : 'task.resultPending',
    buttons: (
      <>
        {shouldRetry && retryButton}
        {task.request !== null && (
          <Button
            component={Link}
            to={`/playground?from=${encodeURIComponent(task.id)}`}
            variant={task.status === 'FAILURE' && !shouldRetry ? 'filled' : 'default'}
            aria-label={t('task.change')}
          >
            {t(isPhone ? 'app.edit' : 'task.change')}
          </Button>
        )}
        {!shouldRetry && retryButton}
        {!ended && !isWithVendor && (
          <Button variant="default" loading={cancel.isPending} onClick={() => void confirmAndCancel()}>
            {t('task.cancel')}
          </Button>
        )}
      </>
    ),
    notice: retry.isError ? (
      <ErrorNotice error={retry.error} />
    ) : cancel.isError ? (
      <ErrorNotice error={cancel.error} codeTexts={{ CANCEL_UNSUPPORTED: 'task.cancelNotNow' }} />
    ) : ended && !task.retryable ? (
      <Text size="sm" c="dimmed">
        {t(blockTexts[task.retry_block ?? ''] ?? 'task.notKept')}
      </Text>
    ) : null,
  };
}
