import { Button, Group, Skeleton, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { TwoFactorStatus } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { useInlineForm } from '../../ui/form/inline-form.tsx';
import { SettingsBlock } from '../../ui/page/settings-block.tsx';
import { BackupCodes } from './backup-codes.tsx';
import { TwoFactorCodeDialog } from './two-factor-code-dialog.tsx';
import { TwoFactorSetUp } from './two-factor-set-up.tsx';

/** Two-factor authentication: status, set-up, backup codes and disabling. */
export function TwoFactor() {
  const { t } = useTranslation();
  const status = useApiQuery<TwoFactorStatus>('/api/user/2fa/status');
  return (
    <SettingsBlock heading={t('security.twoFactor')} intro={t('security.twoFactor.intro')}>
      <QueryResult query={status} pending={<Skeleton h={36} w={180} />}>
        {(factor) => <Factor factor={factor} />}
      </QueryResult>
    </SettingsBlock>
  );
}

function Factor({ factor }: { factor: TwoFactorStatus }) {
  const { t } = useTranslation();
  const setUp = useInlineForm();
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  if (codes !== null) return <BackupCodes codes={codes} onDone={() => setCodes(null)} />;
  if (setUp.isOpen) {
    return (
      <TwoFactorSetUp
        onCancel={setUp.close}
        onEnabled={(fresh) => {
          setUp.close();
          setCodes(fresh);
        }}
      />
    );
  }
  if (factor.enabled) return <Enabled factor={factor} onCodes={setCodes} />;
  return (
    <>
      <StatusLabel tone="quiet">{t('security.twoFactor.off')}</StatusLabel>
      <Group>
        <Button variant="default" ref={setUp.opener} onClick={setUp.open}>
          {t('security.twoFactor.setUp')}
        </Button>
      </Group>
    </>
  );
}

type EnabledProps = { factor: TwoFactorStatus; onCodes(codes: readonly string[]): void };

function Enabled({ factor, onCodes }: EnabledProps) {
  const { t } = useTranslation();
  const [openDialog, setOpenDialog] = useState<'disable' | 'codes' | null>(null);
  const left = factor.backup_codes_remaining ?? 0;
  return (
    <>
      <div>
        <StatusLabel tone="good">{t('security.twoFactor.on')}</StatusLabel>
        <Text size="sm" c={left === 0 ? 'var(--mantine-color-error)' : 'dimmed'} mt={6}>
          {t(left === 0 ? 'security.codes.noneLeft' : 'security.codes.left', { left })}
        </Text>
        {factor.locked && (
          <Text size="sm" mt={6} role="status">
            {t('security.twoFactor.locked')}
          </Text>
        )}
      </div>
      <Group>
        <Button variant="default" onClick={() => setOpenDialog('codes')}>
          {t('security.codes.renew')}
        </Button>
        <Button variant="light" color="red" onClick={() => setOpenDialog('disable')}>
          {t('security.twoFactor.disable')}
        </Button>
      </Group>
      <TwoFactorCodeDialog
        isOpen={openDialog === 'codes'}
        title={t('security.codes.renewTitle')}
        text={t('security.codes.renewText')}
        hint={t('security.appCodeHint')}
        action={t('security.codes.renew')}
        path="/api/user/2fa/backup_codes"
        onClose={() => setOpenDialog(null)}
        onResponse={({ backup_codes: fresh = [] }) => onCodes(fresh)}
      />
      <TwoFactorCodeDialog
        isOpen={openDialog === 'disable'}
        title={t('security.twoFactor.disableTitle')}
        text={t('security.twoFactor.disableText')}
        hint={t('code.hint')}
        action={t('security.twoFactor.disable')}
        isDestructive
        path="/api/user/2fa/disable"
        onClose={() => setOpenDialog(null)}
      />
    </>
  );
}
