import { Button, Group, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type Ref, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { User } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { useApiMutation } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { InlineForm, useInlineForm } from '../../ui/form/inline-form.tsx';
import { useForm } from '../../ui/form/use-form.ts';
import { SettingsBlock } from '../../ui/page/section.tsx';
import { useSecurityProof } from '../../ui/security-proof/security-proof.tsx';
import { validateEmail } from '../accounts/validate-account.ts';

/** The account's email address. A new one needs a mailed code and a Security Proof. */
export function EmailAddress({ user }: { user: User }) {
  const { t } = useTranslation();
  const form = useInlineForm();
  return (
    <SettingsBlock heading={t('account.email')} intro={t('profile.email.intro')}>
      {form.isOpen ? (
        <ChangeAddress email={user.email} onDone={form.close} />
      ) : (
        <Address user={user} onChange={form.open} opener={form.opener} />
      )}
    </SettingsBlock>
  );
}

type AddressProps = { user: User; onChange(): void; opener: Ref<HTMLButtonElement> };

function Address({ user, onChange, opener }: AddressProps) {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const requestProof = useSecurityProof();
  const remove = useApiMutation<string>({
    request: (proof) => ({ method: 'DELETE', path: '/api/user/email', headers: { 'x-security-proof': proof } }),
    invalidates: ['/api/user/self'],
    onSuccess: () => notifySuccess(t('profile.email.removed')),
  });
  const ask = async (): Promise<void> => {
    const question = {
      title: t('profile.email.removeTitle'),
      text: t('profile.email.removeText', { email: user.email ?? '' }),
      action: t('profile.email.removeAction'),
    };
    if (!(await confirm(question))) return;
    const proof = await requestProof('account.email');
    if (proof !== null) remove.mutate(proof);
  };
  return (
    <>
      {remove.isError && <ErrorNotice error={remove.error} />}
      <Text fw={560} fz={14.5} style={{ overflowWrap: 'anywhere' }}>
        {user.email ?? t('profile.email.none')}
      </Text>
      <Group>
        <Button variant="default" ref={opener} onClick={onChange}>
          {t(user.email === null ? 'profile.email.add' : 'profile.email.change')}
        </Button>
        {user.email !== null && (
          <Button variant="light" color="red" loading={remove.isPending} onClick={() => void ask()}>
            {t('profile.email.remove')}
          </Button>
        )}
      </Group>
    </>
  );
}

function ChangeAddress({ email, onDone }: { email: string | null; onDone(): void }) {
  const { t } = useTranslation();
  const [sentTo, setSentTo] = useState<string | null>(null);
  const send = useApiMutation<string>({
    request: (email) => ({ method: 'POST', path: '/api/user/email/code', body: { email } }),
    onSuccess: (_answer, email) => setSentTo(email),
  });
  const form = useForm({
    initial: { email: '' },
    validate: ({ email }) => {
      const validationError = validateEmail(email.trim());
      return { email: validationError === null ? null : t(validationError) };
    },
    toVariables: ({ email }) => email.trim(),
    change: send,
  });
  if (sentTo !== null) return <ConfirmAddress email={sentTo} onBack={() => setSentTo(null)} onDone={onDone} />;
  return (
    <InlineForm
      form={form}
      action={t('signUp.send')}
      onCancel={onDone}
      codeTexts={{ AUTH_METHOD_DISABLED: 'profile.email.noMail' }}
    >
      <TextInput
        {...form.bind('email')}
        type="email"
        label={t('profile.email.new')}
        description={email === null ? t('profile.email.none') : t('profile.email.current', { email })}
        autoComplete="email"
        autoCapitalize="none"
        autoFocus
      />
    </InlineForm>
  );
}

const codeTexts = { AUTH_CODE_INVALID: 'signUp.codeWrong', AUTH_IDENTITY_TAKEN: 'profile.email.taken' } as const;

function ConfirmAddress({ email, onBack, onDone }: { email: string; onBack(): void; onDone(): void }) {
  const { t } = useTranslation();
  const session = useSession();
  const queries = useQueryClient();
  const requestProof = useSecurityProof();
  const bind = useMutation({
    /** Resolves to false if the user cancels the Security Proof. */
    mutationFn: async (code: string): Promise<boolean> => {
      const proof = await requestProof('account.email');
      if (proof === null) return false;
      const headers = { 'x-security-proof': proof };
      await session.send({ method: 'POST', path: '/api/oauth/email/bind', headers, body: { email, code } });
      await queries.invalidateQueries({ queryKey: ['api', '/api/user/self'] });
      return true;
    },
    onSuccess: (isDone) => {
      if (!isDone) return;
      notifySuccess(t('profile.email.changed', { email }));
      onDone();
    },
  });
  const form = useForm({
    initial: { code: '' },
    validate: ({ code }) => ({ code: code.trim() === '' ? t('signUp.codeMissing') : null }),
    toVariables: ({ code }) => code.trim(),
    change: bind,
    codeTexts,
  });
  return (
    <InlineForm
      form={form}
      action={t('profile.email.confirm')}
      onCancel={onBack}
      cancel={t('profile.email.other')}
      codeTexts={codeTexts}
    >
      <Text size="sm" role="status">
        {t('signUp.sent', { email })}
      </Text>
      <TextInput
        {...form.bind('code')}
        label={t('signUp.code')}
        description={t('signUp.codeHint')}
        inputMode="numeric"
        autoComplete="one-time-code"
        autoFocus
      />
    </InlineForm>
  );
}
