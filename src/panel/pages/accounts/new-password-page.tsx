import { Button, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.ts';
import { useSession } from '../../session/session-context.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { PageHeading } from '../../ui/page/page-heading.tsx';
import { WelcomeLayout } from '../../ui/page/welcome-layout.tsx';
import { AccountMessage, BackToSignIn } from './account-message.tsx';
import type { ResetLink } from './link-parameters.ts';
import { clearAddress, readResetLink } from './link-parameters.ts';
import { fieldErrorText, validatePassword } from './validate-account.ts';

/** The target of the mailed link. Its token is kept in this page's memory only. */
export function NewPasswordPage() {
  const { t } = useTranslation();
  const [link] = useState(() => readResetLink(window.location.search));
  const [step, setStep] = useState<'open' | 'done' | 'dead'>(link.token === '' || link.email === '' ? 'dead' : 'open');
  const title = t('reset.title');

  useEffect(clearAddress, []);

  return (
    <WelcomeLayout>
      {step === 'open' && (
        <Stack gap={32}>
          <PageHeading title={title} heading={t('reset.heading')} intro={t('reset.intro')} />
          <NewPasswordForm link={link} onDone={() => setStep('done')} onInvalidLink={() => setStep('dead')} />
          <BackToSignIn />
        </Stack>
      )}
      {step === 'done' && (
        <AccountMessage
          title={title}
          heading={t('reset.done.heading')}
          text={t('reset.done.text')}
          next={{ to: '/sign-in', text: t('setup.done.next'), state: { username: link.email } }}
        />
      )}
      {step === 'dead' && (
        <AccountMessage
          title={title}
          heading={t('reset.dead.heading')}
          text={t('reset.dead.text')}
          next={{ to: '/forgot-password', text: t('reset.dead.next'), state: { email: link.email } }}
        >
          <BackToSignIn />
        </AccountMessage>
      )}
    </WelcomeLayout>
  );
}

type NewPasswordFormProps = {
  link: ResetLink;
  onDone(): void;
  /** The server rejects the link for good. */
  onInvalidLink(): void;
};

function NewPasswordForm({ link, onDone, onInvalidLink }: NewPasswordFormProps) {
  const { t, i18n } = useTranslation();
  const session = useSession();
  const field = useRef<HTMLInputElement>(null);
  const [password, setPassword] = useState('');
  const [isSubmitted, setSubmitted] = useState(false);

  const change = useMutation({
    mutationFn: (chosen: string) =>
      session.send({ method: 'POST', path: '/api/user/reset', body: { ...link, password: chosen } }),
    onSuccess: onDone,
    onError: (error) => {
      const isInvalidLink = error instanceof ApiError && (error.code === 'AUTH_FLOW_INVALID' || isMalformed(error));
      if (isInvalidLink) onInvalidLink();
      else field.current?.focus();
    },
  });

  useEffect(() => field.current?.focus(), []);

  const validationError = validatePassword(password);
  const fieldError = fieldErrorText(change.error, 'password', { t, language: i18n.language });

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setSubmitted(true);
    if (validationError !== null) field.current?.focus();
    else if (!change.isPending) change.mutate(password);
  };

  return (
    <form onSubmit={submit} noValidate>
      <Stack gap={20}>
        {change.isError && fieldError === null && <ErrorNotice error={change.error} />}
        <TextInput label={t('account.email')} value={link.email} readOnly autoComplete="username" size="md" />
        <PasswordInput
          ref={field}
          label={t('reset.password')}
          description={t('setup.passwordHint')}
          error={
            isSubmitted && validationError !== null
              ? t(validationError)
              : change.variables === password
                ? fieldError
                : null
          }
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          autoComplete="new-password"
          visibilityToggleButtonProps={{ 'aria-label': t('app.showPassword') }}
          size="md"
        />
        <Button type="submit" size="md" loading={change.isPending} mt={4}>
          {t('reset.submit')}
        </Button>
      </Stack>
    </form>
  );
}

/** The link was cut or altered: its fields fail validation. */
const isMalformed = ({ fieldErrors }: ApiError): boolean => fieldErrors.has('email') || fieldErrors.has('token');
