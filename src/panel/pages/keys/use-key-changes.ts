import { useTranslation } from 'react-i18next';
import { type ApiKey, keyStatus } from '../../api/types.ts';
import { useApiMutation } from '../../session/use-api.ts';
import { notifySuccess } from '../../ui/display/notify.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';

type Options = {
  /** The account whose keys they are; absent: your own. */
  userId?: number;
  /** Runs after a deletion. */
  onDeleted?: () => void;
};

/** Enables, disables and deletes a key. */
export function useKeyChanges({ userId, onDeleted }: Options = {}) {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const toggle = useApiMutation<ApiKey>({
    request: ({ id, status }) => ({
      method: 'PUT',
      path: userId === undefined ? `/api/token/${id}` : `/api/user/${userId}/keys/${id}/status`,
      body: { status: status === keyStatus.disabled ? keyStatus.active : keyStatus.disabled },
    }),
    invalidates: [userId === undefined ? '/api/token' : `/api/user/${userId}/keys`],
    onSuccess: (_answer, { name, status }) =>
      notifySuccess(t(status === keyStatus.disabled ? 'keys.enabled' : 'keys.disabled', { name })),
  });
  const remove = useApiMutation<ApiKey>({
    request: ({ id }) => ({
      method: 'DELETE',
      path: userId === undefined ? `/api/token/${id}` : `/api/user/${userId}/keys/${id}`,
    }),
    // Only the lists: the key itself is gone.
    invalidates: [userId === undefined ? '/api/token?' : `/api/user/${userId}/keys`],
    onSuccess: (_answer, { name }) => {
      notifySuccess(t('keys.deleted', { name }));
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

export type KeyChanges = ReturnType<typeof useKeyChanges>;
