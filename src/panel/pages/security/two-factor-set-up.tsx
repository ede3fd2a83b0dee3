import { Button, Group, List, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { encode } from 'uqr';
import type { TwoFactorSetup } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { CopyField } from '../../ui/display/copy-field.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { InlineForm } from '../../ui/form/inline-form.tsx';
import { useForm } from '../../ui/form/use-form.ts';
import classes from './security.module.css';
import { useSecurityMutation } from './use-security-mutation.ts';

type SetUpProps = { onCancel(): void; onEnabled(backupCodes: readonly string[]): void };

/** Set-up in two steps: scan the QR code or type the secret, then enter a code from the app. */
export function TwoFactorSetUp({ onCancel, onEnabled }: SetUpProps) {
  const { t } = useTranslation();
  const session = useSession();
  const { mutate, data, error } = useMutation({
    mutationFn: () => session.send<TwoFactorSetup>({ method: 'POST', path: '/api/user/2fa/setup' }),
  });
  useEffect(() => mutate(), [mutate]);

  if (error !== null) {
    return (
      <>
        <ErrorNotice error={error} />
        <Group>
          <Button onClick={() => mutate()}>{t('app.retry')}</Button>
          <Button variant="default" onClick={onCancel}>
            {t('app.cancel')}
          </Button>
        </Group>
      </>
    );
  }
  if (data === undefined) return <Skeleton h={184} w={184} />;
  return (
    <List type="ordered" size="sm" className={classes.steps} spacing={28}>
      <List.Item>
        <Text fw={500} size="sm">
          {t('security.setUp.scan')}
        </Text>
        <div className={classes.secret}>
          <QrCode text={data.qr_code_data} label={t('security.setUp.qr')} />
          <Stack gap={8} className={classes.secretText}>
            <Text size="sm" c="dimmed">
              {t('security.setUp.orType')}
            </Text>
            <CopyField text={data.secret} shown={data.secret.replace(/(.{4})(?=.)/g, '$1 ')} />
          </Stack>
        </div>
      </List.Item>
      <List.Item>
        <Confirm onCancel={onCancel} onEnabled={() => onEnabled(data.backup_codes)} />
      </List.Item>
    </List>
  );
}

function Confirm({ onCancel, onEnabled }: { onCancel(): void; onEnabled(): void }) {
  const { t } = useTranslation();
  const enable = useSecurityMutation<string>({
    request: (code) => ({ method: 'POST', path: '/api/user/2fa/enable', body: { code } }),
    onResponse: onEnabled,
  });
  const form = useForm({
    initial: { code: '' },
    validate: ({ code }) => ({ code: code.trim() === '' ? t('code.missing') : null }),
    toVariables: ({ code }) => code.trim(),
    change: enable,
    codeTexts: { AUTH_CODE_INVALID: 'security.setUp.wrong' },
  });
  return (
    <InlineForm form={form} action={t('security.setUp.enable')} note={t('security.setUp.signsOut')} onCancel={onCancel}>
      <TextInput
        {...form.bind('code')}
        label={t('security.setUp.code')}
        description={t('security.setUp.codeHint')}
        inputMode="numeric"
        autoComplete="one-time-code"
        styles={{ wrapper: { maxWidth: 240 } }}
      />
    </InlineForm>
  );
}

/**
 * A QR code as a single path. Dark on white in both colour schemes: cameras read inverted codes
 * unreliably.
 */
function QrCode({ text, label, size = 184 }: { text: string; label: string; size?: number }) {
  const { data, size: cells } = encode(text, { border: 3 });
  const path = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ''))).join('');
  return (
    <svg
      viewBox={`0 0 ${cells} ${cells}`}
      width={size}
      height={size}
      role="img"
      aria-label={label}
      shapeRendering="crispEdges"
    >
      <rect width={cells} height={cells} fill="#ffffff" />
      <path d={path} fill="#000000" />
    </svg>
  );
}
