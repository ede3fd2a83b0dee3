import { Button, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { GatewayStatus } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { FailureNotice } from '../../ui/display/error-notice.tsx';
import { addressFault } from './validate-email.ts';
import { showFault } from './field-error-text.ts';
import { useChallenge } from './use-captcha.tsx';

type ForgotPasswordFormProps = { status: GatewayStatus; suggested: string; onSent(email: string): void };

export function ForgotPasswordForm({ status, suggested, onSent }: ForgotPasswordFormProps) {
  const { t } = useTranslation();
  const session = useSession();
  const field = useRef<HTMLInputElement>(null);
  const [email, setEmail] = useState(suggested);
  const challenge = useChallenge(status);
  const [isChecked, setChecked] = useState(false);

  const ask = useMutation({
    mutationFn: (address: string) =>
      session.send({ method: 'POST', path: '/api/reset_password', body: { email: address, ...challenge.take() } }),
    onSuccess: (_answer, address) => onSent(address),
    onError: () => field.current?.focus(),
  });

  useEffect(() => field.current?.focus(), []);

  const address = email.trim();
  const objection = addressFault(address);
  const fault = showFault(ask.error, 'email', t);

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setChecked(true);
    if (objection !== null) field.current?.focus();
    else if (!challenge.isMissing() && !ask.isPending) ask.mutate(address);
  };

  return (
    <form onSubmit={submit} noValidate>
      <Stack gap={20}>
        {ask.isError && fault === null && (
          <FailureNotice error={ask.error} meanings={{ AUTH_METHOD_DISABLED: 'forgot.noMail' }} />
        )}
        <TextInput
          ref={field}
          type="email"
          label={t('account.email')}
          error={isChecked && objection !== null ? t(objection) : ask.variables === address ? fault : null}
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          autoComplete="email"
          autoCapitalize="none"
          spellCheck={false}
          size="md"
        />
        {challenge.element}
        <Button type="submit" size="md" loading={ask.isPending} mt={4}>
          {t('forgot.submit')}
        </Button>
      </Stack>
    </form>
  );
}
