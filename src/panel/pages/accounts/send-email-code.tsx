import { Button, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../session/session-context.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import type { Captcha } from './captcha.tsx';
import { fieldErrorText, validateEmail } from './validate-account.ts';

/** Delay between two codes to one address; the server accepts two requests within it. */
const resendDelaySeconds = 30;

type SendEmailCodeProps = {
  email: string;
  captcha: Captcha;
  /** The error to show at the address field. */
  onInvalidEmail(text: string): void;
  onSent(): void;
};

/** Sends the code that confirms an address, and again after a delay. */
export function SendEmailCode({ email, captcha, onInvalidEmail, onSent }: SendEmailCodeProps) {
  const { t, i18n } = useTranslation();
  const session = useSession();
  const [secondsLeft, setSecondsLeft] = useState(0);

  const send = useMutation({
    mutationFn: (address: string) =>
      session.send({ method: 'POST', path: '/api/verification', body: { email: address, ...captcha.take() } }),
    onSuccess: () => {
      setSecondsLeft(resendDelaySeconds);
      onSent();
    },
    onError: (error) => {
      const fieldError = fieldErrorText(error, 'email', { t, language: i18n.language });
      if (fieldError !== null) onInvalidEmail(fieldError);
    },
  });

  useEffect(() => {
    if (secondsLeft === 0) return;
    const timer = setTimeout(() => setSecondsLeft(secondsLeft - 1), 1000);
    return () => clearTimeout(timer);
  }, [secondsLeft]);

  const isSent = send.isSuccess && send.variables === email;
  const mustWait = isSent && secondsLeft > 0;

  const submit = (): void => {
    const validationError = validateEmail(email);
    if (validationError !== null) onInvalidEmail(t(validationError));
    else if (!captcha.isMissing() && !send.isPending) send.mutate(email);
  };

  return (
    <Stack gap={12} align="flex-start">
      {send.isError && fieldErrorText(send.error, 'email', { t, language: i18n.language }) === null && (
        <ErrorNotice error={send.error} />
      )}
      <Button variant="default" loading={send.isPending} disabled={mustWait} onClick={submit}>
        {mustWait ? t('signUp.sendAgainIn', { seconds: secondsLeft }) : t(isSent ? 'signUp.sendAgain' : 'signUp.send')}
      </Button>
      <Text size="sm" c="dimmed" aria-live="polite">
        {isSent ? t('signUp.sent', { email }) : ''}
      </Text>
    </Stack>
  );
}
