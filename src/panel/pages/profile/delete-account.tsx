import { Button, Group } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { User } from '../../api/types.ts';
import { roles } from '../../session/roles.ts';
import { useSecurityProof } from '../../session/security-proof.tsx';
import { useSession } from '../../session/session-context.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { SettingsBlock } from '../../ui/page/settings-block.tsx';

/** Deletes the user's own account; root cannot delete theirs. */
export function DeleteAccount({ user }: { user: User }) {
  const { t } = useTranslation();
  const session = useSession();
  const confirm = useConfirm();
  const requestProof = useSecurityProof();
  const remove = useMutation({
    mutationFn: async (proof: string) => {
      await session.send({ method: 'DELETE', path: '/api/user/self', headers: { 'x-security-proof': proof } });
      // The account and its sessions are gone; this clears what the browser still holds.
      await session.signOut();
    },
  });
  const ask = async (): Promise<void> => {
    const question = {
      title: t('profile.delete.title'),
      text: t('profile.delete.text'),
      action: t('profile.delete'),
      typed: user.username,
    };
    if (!(await confirm(question))) return;
    const proof = await requestProof('account.delete');
    if (proof !== null) remove.mutate(proof);
  };
  if (user.role >= roles.root) return null;
  return (
    <SettingsBlock heading={t('profile.delete')} intro={t('profile.delete.intro')}>
      {remove.isError && <ErrorNotice error={remove.error} />}
      <Group>
        <Button variant="light" color="red" loading={remove.isPending} onClick={() => void ask()}>
          {t('profile.delete')}
        </Button>
      </Group>
    </SettingsBlock>
  );
}
