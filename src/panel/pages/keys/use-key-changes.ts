import { useTranslation } from 'react-i18next';
import type { ApiKey } from '../../api/types.ts';
import { useChange } from '../../api/use-api.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { notifyDone } from '../../ui/display/notify.ts';

/** Switching a key off and on, and deleting it. `onDeleted` follows a deletion. */
export function useKeyChanges(onDeleted?: () => void) {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const toggle = useChange<ApiKey>({
    request: ({ id, status }) => ({ method: 'PUT', path: `/api/token/${id}`, body: { status: status === 2 ? 1 : 2 } }),
    stale: ['/api/token'],
    onSuccess: (_answer, { name, status }) => notifyDone(t(status === 2 ? 'keys.enabled' : 'keys.disabled', { name })),
  });
  const remove = useChange<ApiKey>({
    request: ({ id }) => ({ method: 'DELETE', path: `/api/token/${id}` }),
    // The lists alone: the key itself is gone.
    stale: ['/api/token?'],
    onSuccess: (_answer, { name }) => {
      notifyDone(t('keys.deleted', { name }));
      onDeleted?.();
    },
  });
  return {
    error: toggle.error ?? remove.error,
    isToggling: toggle.isPending,
    isRemoving: remove.isPending,
    toggle: (key: ApiKey) => {
      remove.reset();
      toggle.mutate(key);
    },
    remove: async (key: ApiKey): Promise<void> => {
      const question = {
        title: t('keys.deleteTitle', { name: key.name }),
        text: t('keys.deleteText', { prefix: key.prefix }),
        action: t('keys.delete'),
      };
      if (!(await confirm(question))) return;
      toggle.reset();
      remove.mutate(key);
    },
  };
}
