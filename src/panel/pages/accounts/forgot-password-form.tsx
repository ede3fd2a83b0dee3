import { Button, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { GatewayStatus } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { fieldErrorText } from './field-error-text.ts';
import { useCaptcha } from './use-captcha.tsx';
import { validateEmail } from './validate-email.ts';

type ForgotPasswordFormProps = { status: GatewayStatus; suggested: string; onSent(email: string): void };

export function ForgotPasswordForm({ status, suggested, onSent }: ForgotPasswordFormProps) {
  const { t, i18n } = useTranslation();
  const session = useSession();
  const field = useRef<HTMLInputElement>(null);
  const [email, setEmail] = useState(suggested);
  const captcha = useCaptcha(status);
  const [isSubmitted, setSubmitted] = useState(false);

  const requestLink = useMutation({
    mutationFn: (address: string) =>
      session.send({ method: 'POST', path: '/api/reset_password', body: { email: address, ...captcha.take() } }),
    onSuccess: (_answer, address) => onSent(address),
    onError: () => field.current?.focus(),
  });

  useEffect(() => field.current?.focus(), []);

  const address = email.trim();
  const validationError = validateEmail(address);
  const fieldError = fieldErrorText(requestLink.error, 'email', { t, language: i18n.language });

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setSubmitted(true);
    if (validationError !== null) field.current?.focus();
    else if (!captcha.isMissing() && !requestLink.isPending) requestLink.mutate(address);
  };

  return (
    <form onSubmit={submit} noValidate>
      <Stack gap={20}>
        {requestLink.isError && fieldError === null && (
          <ErrorNotice error={requestLink.error} codeTexts={{ AUTH_METHOD_DISABLED: 'forgot.noMail' }} />
        )}
        <TextInput
          ref={field}
          type="email"
          label={t('account.email')}
          error={
            isSubmitted && validationError !== null
              ? t(validationError)
              : requestLink.variables === address
                ? fieldError
                : null
          }
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          autoComplete="email"
          autoCapitalize="none"
          spellCheck={false}
          size="md"
        />
        {captcha.element}
        <Button type="submit" size="md" loading={requestLink.isPending} mt={4}>
          {t('forgot.submit')}
        </Button>
      </Stack>
    </form>
  );
}
