import { Button } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useApiMutation } from '../../api/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';

/** Ends all links to a task's results. The page then shows new ones. */
export function TaskLinks({ taskId }: { taskId: string }) {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const path = `/api/task/${encodeURIComponent(taskId)}`;
  const revoke = useApiMutation<void>({
    request: () => ({ method: 'POST', path: `${path}/links/revoke` }),
    invalidates: [path],
    onSuccess: () => notifySuccess(t('task.endLinksDone')),
  });
  const ask = async (): Promise<void> => {
    const question = { title: t('task.endLinksTitle'), text: t('task.endLinksText'), action: t('task.endLinks') };
    if (await confirm(question)) revoke.mutate();
  };
  return (
    <>
      <Button variant="subtle" color="gray" size="xs" loading={revoke.isPending} onClick={() => void ask()}>
        {t('task.endLinks')}
      </Button>
      {revoke.isError && <ErrorNotice error={revoke.error} />}
    </>
  );
}
