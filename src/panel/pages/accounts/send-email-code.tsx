import { Button, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../session/session-context.tsx';
import { FailureNotice } from '../../ui/display/error-notice.tsx';
import { addressFault } from './validate-email.ts';
import { showFault } from './field-error-text.ts';
import type { ChallengeUse } from './use-captcha.tsx';

/** Seconds between two codes to one address: the server takes two requests in this time. */
const pause = 30;

type SendCodeProps = {
  email: string;
  challenge: ChallengeUse;
  /** What is wrong with the address, to be said at its field. */
  onObjection(text: string): void;
  onSent(): void;
};

/** Mails the code that confirms an address, and again after a while. */
export function SendCode({ email, challenge, onObjection, onSent }: SendCodeProps) {
  const { t } = useTranslation();
  const session = useSession();
  const [secondsLeft, setSecondsLeft] = useState(0);

  const send = useMutation({
    mutationFn: (address: string) =>
      session.send({ method: 'POST', path: '/api/verification', body: { email: address, ...challenge.take() } }),
    onSuccess: () => {
      setSecondsLeft(pause);
      onSent();
    },
    onError: (error) => {
      const fault = showFault(error, 'email', t);
      if (fault !== null) onObjection(fault);
    },
  });

  useEffect(() => {
    if (secondsLeft === 0) return;
    const timer = setTimeout(() => setSecondsLeft(secondsLeft - 1), 1000);
    return () => clearTimeout(timer);
  }, [secondsLeft]);

  const isSent = send.isSuccess && send.variables === email;
  const mustWait = isSent && secondsLeft > 0;

  const ask = (): void => {
    const objection = addressFault(email);
    if (objection !== null) onObjection(t(objection));
    else if (!challenge.isMissing() && !send.isPending) send.mutate(email);
  };

  return (
    <Stack gap={12} align="flex-start">
      {send.isError && showFault(send.error, 'email', t) === null && <FailureNotice error={send.error} />}
      <Button variant="default" loading={send.isPending} disabled={mustWait} onClick={ask}>
        {mustWait ? t('signUp.sendAgainIn', { seconds: secondsLeft }) : t(isSent ? 'signUp.sendAgain' : 'signUp.send')}
      </Button>
      <Text size="sm" c="dimmed" aria-live="polite">
        {isSent ? t('signUp.sent', { email }) : ''}
      </Text>
    </Stack>
  );
}
