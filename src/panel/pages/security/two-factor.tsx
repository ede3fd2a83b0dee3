import { Alert, Button, Group, Modal, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { SessionRotation, TwoFactorStatus } from '../../api/types.ts';
import { useApiQuery } from '../../session/use-api.ts';
import { CopyField } from '../../ui/display/copy-field.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useInlineForm } from '../../ui/form/inline-form.tsx';
import { useForm } from '../../ui/form/use-form.ts';
import { SettingsBlock } from '../../ui/page/section.tsx';
import { downloadText } from '../../ui/table/export-menu.tsx';
import { TwoFactorSetUp } from './two-factor-set-up.tsx';
import { useSecurityMutation } from './use-security-mutation.ts';

export const twoFactorPath = '/api/user/2fa/status';

/** Two-factor authentication: status, set-up, backup codes and disabling. */
export function TwoFactor() {
  const { t } = useTranslation();
  const status = useApiQuery<TwoFactorStatus>(twoFactorPath);
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
  const format = useFormat();
  const [openDialog, setOpenDialog] = useState<'disable' | 'codes' | null>(null);
  const left = factor.backup_codes_remaining ?? 0;
  return (
    <>
      <div>
        <StatusLabel tone="good">{t('security.twoFactor.on')}</StatusLabel>
        <Text size="sm" c={left === 0 ? 'var(--mantine-color-error)' : 'dimmed'} mt={6}>
          {left === 0
            ? t('security.codes.noneLeft')
            : t('security.codes.left', { count: left, number: format.number(left) })}
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
        action={t('security.codes.make')}
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

/** `backup_codes` is set if the change creates new ones. */
type Changed = SessionRotation & { backup_codes?: string[] };

type TwoFactorCodeDialogProps = {
  isOpen: boolean;
  title: string;
  text: string;
  /** Which kinds of code are accepted. */
  hint: string;
  action: string;
  isDestructive?: boolean;
  /** The API path that takes the code. */
  path: string;
  onClose(): void;
  /** For new backup codes, which are shown once. */
  onResponse?(answer: Changed): void;
};

/** Confirms a change of the second factor with a code. */
function TwoFactorCodeDialog({ isOpen, onClose, ...rest }: TwoFactorCodeDialogProps) {
  const { t } = useTranslation();
  return (
    <Modal opened={isOpen} onClose={onClose} title={rest.title} closeButtonProps={{ 'aria-label': t('app.close') }}>
      <CodeForm onClose={onClose} {...rest} />
    </Modal>
  );
}

function CodeForm({
  text,
  hint,
  action,
  isDestructive = false,
  path,
  onClose,
  onResponse,
}: Omit<TwoFactorCodeDialogProps, 'isOpen'>) {
  const { t } = useTranslation();
  const send = useSecurityMutation<string, Changed>({
    request: (code) => ({ method: 'POST', path, body: { code } }),
    ...(onResponse === undefined ? {} : { onResponse }),
    onSuccess: onClose,
  });
  const form = useForm({
    initial: { code: '' },
    validate: ({ code }) => ({ code: code.trim() === '' ? t('code.missing') : null }),
    toVariables: ({ code }) => code.trim(),
    change: send,
  });
  return (
    <form onSubmit={form.submit} noValidate>
      <Stack gap="lg">
        <Text size="sm" lh={1.6}>
          {text}
        </Text>
        {form.error !== null && <ErrorNotice error={form.error} />}
        <TextInput
          {...form.bind('code')}
          label={t('code.label')}
          description={hint}
          autoComplete="one-time-code"
          spellCheck={false}
          data-autofocus
        />
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onClose}>
            {t('app.cancel')}
          </Button>
          <Button
            type="submit"
            loading={form.isPending}
            disabled={form.values.code.trim() === ''}
            {...(isDestructive ? { color: 'red' } : {})}
          >
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

type BackupCodesProps = { codes: readonly string[]; onDone(): void };

/** New backup codes, shown once. */
function BackupCodes({ codes, onDone }: BackupCodesProps) {
  const { t } = useTranslation();
  const text = codes.join('\n');
  return (
    <Alert color="gate" variant="light" title={t('security.codes.once')} role="status">
      <Stack gap="md">
        <Text size="sm" lh={1.6}>
          {t('security.codes.text')}
        </Text>
        <CopyField text={text} />
        <Group gap="sm">
          <Button variant="default" onClick={() => downloadText('taskgate-backup-codes.txt', `${text}\n`)}>
            {t('security.codes.save')}
          </Button>
          <Button onClick={onDone}>{t('security.codes.kept')}</Button>
        </Group>
      </Stack>
    </Alert>
  );
}
