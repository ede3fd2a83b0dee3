import { Button, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.ts';
import { useSession } from '../../session/session-context.tsx';
import { SignInError, StepBack } from './sign-in-failure.tsx';

/** After these the flow is over and no code is accepted. */
const flowEndedCodes = ['AUTH_FLOW_INVALID', 'AUTH_SESSION_REVOKED'];

type TwoFactorFormProps = {
  flowToken: string;
  /** Returns to the start of the sign-in, with the error that ended the flow or null. */
  onFlowEnded(reason: Error | null): void;
  /** For pages where no guard waits for the session. */
  onDone?(): void;
};

/** The second-factor step of a sign-in. */
export function TwoFactorForm({ flowToken, onFlowEnded, onDone }: TwoFactorFormProps) {
  const { t } = useTranslation();
  const session = useSession();
  const field = useRef<HTMLInputElement>(null);
  const [code, setCode] = useState('');
  const [isSubmitted, setSubmitted] = useState(false);

  const finish = useMutation({
    mutationFn: (typed: string) => session.finishSignIn(flowToken, typed),
    onSuccess: () => onDone?.(),
    onError: (error) => {
      if (error instanceof ApiError && flowEndedCodes.includes(error.code)) onFlowEnded(error);
      else field.current?.select();
    },
  });

  useEffect(() => field.current?.focus(), []);

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setSubmitted(true);
    const typed = code.trim();
    if (typed === '') field.current?.focus();
    else if (!finish.isPending) finish.mutate(typed);
  };

  return (
    <form onSubmit={submit} noValidate>
      <Stack gap={20}>
        {finish.isError && <SignInError error={finish.error} />}
        <TextInput
          ref={field}
          label={t('code.label')}
          error={isSubmitted && code.trim() === '' ? t('code.missing') : null}
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
          autoComplete="one-time-code"
          autoCapitalize="characters"
          spellCheck={false}
          size="md"
          styles={{ input: { fontSize: 18, letterSpacing: '0.12em' } }}
        />
        <Button type="submit" size="md" loading={finish.isPending} mt={4}>
          {t('code.submit')}
        </Button>
        <StepBack text={t('code.back')} onClick={() => onFlowEnded(null)} />
      </Stack>
    </form>
  );
}
