import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { SessionRotation } from '../../api/types.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { useForm } from '../../ui/form/use-form.ts';
import { useSecurityMutation } from './use-security-mutation.ts';

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
export function TwoFactorCodeDialog({ isOpen, onClose, ...rest }: TwoFactorCodeDialogProps) {
  const { t } = useTranslation();
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={rest.title}
      centered
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
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
          <Button type="submit" loading={form.isPending} {...(isDestructive ? { color: 'red' } : {})}>
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
