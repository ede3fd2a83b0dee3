import { Button } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Account } from '../../api/types.ts';
import { useApiMutation } from '../../api/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { Section } from '../../ui/page/section.tsx';

/** Revokes all links to an account's results. */
export function AccountLinks({ account }: { account: Account }) {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const revoke = useApiMutation<void>({
    request: () => ({ method: 'POST', path: `/api/user/${account.id}/links/revoke` }),
    invalidates: ['/api/task'],
    onSuccess: () => notifySuccess(t('links.revoked')),
  });
  const ask = async (): Promise<void> => {
    const title = t('users.linksAsk', { name: account.username });
    if (await confirm({ title, text: t('links.revokeText'), action: t('links.revoke') })) revoke.mutate();
  };
  return (
    <Section
      heading={t('users.links')}
      intro={t('users.linksHelp')}
      actions={
        <Button variant="default" size="xs" loading={revoke.isPending} onClick={() => void ask()}>
          {t('links.revoke')}
        </Button>
      }
    >
      {revoke.isError && <ErrorNotice error={revoke.error} />}
    </Section>
  );
}
