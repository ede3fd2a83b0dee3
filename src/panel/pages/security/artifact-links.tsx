import { Button, Group } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useApiMutation } from '../../api/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { SettingsBlock } from '../../ui/page/settings-block.tsx';

/** Revokes all links to the user's own results. */
export function ArtifactLinks() {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const revoke = useApiMutation<void>({
    request: () => ({ method: 'POST', path: '/api/user/links/revoke' }),
    invalidates: ['/api/task'],
    onSuccess: () => notifySuccess(t('links.revoked')),
  });
  const ask = async (): Promise<void> => {
    const question = { title: t('links.revokeTitle'), text: t('links.revokeText'), action: t('links.revoke') };
    if (await confirm(question)) revoke.mutate();
  };
  return (
    <SettingsBlock heading={t('security.links')} intro={t('security.links.intro')}>
      {revoke.isError && <ErrorNotice error={revoke.error} />}
      <Group>
        <Button variant="light" color="red" loading={revoke.isPending} onClick={() => void ask()}>
          {t('links.revoke')}
        </Button>
      </Group>
    </SettingsBlock>
  );
}
