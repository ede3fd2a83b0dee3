import { Button, Group } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useSecurityProof } from '../../session/security-proof.tsx';
import { useSession } from '../../session/session-context.tsx';
import { downloadBlob } from '../../ui/display/download-text.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { SettingsBlock } from '../../ui/page/settings-block.tsx';

/** A large account takes its time. */
const timeoutMs = 600_000;

/** Downloads everything that the gateway holds about the user. */
export function ExportAccount() {
  const { t } = useTranslation();
  const session = useSession();
  const requestProof = useSecurityProof();
  const exportAll = useMutation({
    mutationFn: async (proof: string) => {
      const headers = { 'x-security-proof': proof };
      const path = '/api/user/self/export';
      const blob = await session.send<Blob>({ method: 'POST', path, headers, as: 'blob', timeoutMs });
      downloadBlob('taskgate-export.json', blob);
    },
  });
  const ask = async (): Promise<void> => {
    const proof = await requestProof('account.export');
    if (proof !== null) exportAll.mutate(proof);
  };
  return (
    <SettingsBlock heading={t('profile.export')} intro={t('profile.export.intro')}>
      {exportAll.isError && <ErrorNotice error={exportAll.error} />}
      <Group>
        <Button variant="default" loading={exportAll.isPending} onClick={() => void ask()}>
          {t('profile.export.action')}
        </Button>
      </Group>
    </SettingsBlock>
  );
}
