import { Button, Group } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useChange } from '../../api/use-api.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { FailureNotice } from '../../ui/display/error-notice.tsx';
import { notifyDone } from '../../ui/display/notify.ts';
import { SettingsBlock } from '../../ui/page/settings-block.tsx';

/** The links to one's own results that were given out, and their end. */
export function ArtifactLinks() {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const revoke = useChange<void>({
    request: () => ({ method: 'POST', path: '/api/user/links/revoke' }),
    stale: ['/api/task'],
    onSuccess: () => notifyDone(t('links.revoked')),
  });
  const ask = async (): Promise<void> => {
    const question = { title: t('links.revokeTitle'), text: t('links.revokeText'), action: t('links.revoke') };
    if (await confirm(question)) revoke.mutate();
  };
  return (
    <SettingsBlock heading={t('security.links')} intro={t('security.links.intro')}>
      {revoke.isError && <FailureNotice error={revoke.error} />}
      <Group>
        <Button variant="light" color="red" loading={revoke.isPending} onClick={() => void ask()}>
          {t('links.revoke')}
        </Button>
      </Group>
    </SettingsBlock>
  );
}
