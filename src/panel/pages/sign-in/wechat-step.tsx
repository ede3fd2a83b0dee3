import { Button, Stack, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.ts';
import type { FlowTicket } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { PageHeading } from '../../ui/page/page-heading.tsx';
import { SignInError, StepBack } from './sign-in-failure.tsx';
import classes from './wechat-step.module.css';

type WeChatStepProps = {
  /** Whether the gateway has a QR code to show. */
  hasQrCode: boolean;
  onTwoFactorRequired(flowToken: string): void;
  onBack(): void;
};

/** Sign-in with WeChat: scan the QR code, request a number in WeChat, enter it here. */
export function WeChatStep({ hasQrCode, onTwoFactorRequired, onBack }: WeChatStepProps) {
  const { t } = useTranslation();
  const session = useSession();
  const field = useRef<HTMLInputElement>(null);
  const [code, setCode] = useState('');
  const [isSubmitted, setSubmitted] = useState(false);
  const [showsPicture, setShowsPicture] = useState(hasQrCode);
  const flow = useQuery({
    queryKey: ['wechat'],
    queryFn: () => session.send<FlowTicket>({ method: 'POST', path: '/api/oauth/wechat/state' }),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  const signIn = useMutation({
    mutationFn: async (typed: string) => {
      // The code may be typed before the flow has started: wait for it.
      const isReady = flow.data !== undefined && !flow.isFetching;
      const { data } = isReady ? flow : await flow.refetch({ cancelRefetch: false, throwOnError: true });
      const query = new URLSearchParams({ code: typed, state: data?.flow_token ?? '' });
      return session.signInWith({ method: 'GET', path: `/api/oauth/wechat?${query}` });
    },
    onSuccess: (flowToken) => flowToken !== null && onTwoFactorRequired(flowToken),
    onError: (error) => {
      // The flow expired or had too many wrong codes: start another one.
      if (error instanceof ApiError && error.code === 'AUTH_FLOW_INVALID') void flow.refetch();
      field.current?.select();
    },
  });

  useEffect(() => field.current?.focus(), []);

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setSubmitted(true);
    const typed = code.trim();
    if (typed === '') field.current?.focus();
    else if (!signIn.isPending) signIn.mutate(typed);
  };

  return (
    <>
      <PageHeading
        title={t('signIn.title')}
        heading={t('wechat.heading')}
        intro={t(showsPicture ? 'wechat.intro' : 'wechat.noPicture')}
      />
      {showsPicture && (
        <img
          className={classes.picture}
          src="/api/oauth/wechat/qrcode"
          alt={t('wechat.picture')}
          onError={() => setShowsPicture(false)}
        />
      )}
      <form onSubmit={submit} noValidate>
        <Stack gap={20}>
          {flow.isError && <ErrorNotice error={flow.error} />}
          {signIn.isError && !flow.isError && (
            <SignInError
              error={signIn.error}
              codeTexts={{ AUTH_CODE_INVALID: 'wechat.codeWrong', AUTH_FLOW_INVALID: 'wechat.again' }}
            />
          )}
          <TextInput
            ref={field}
            label={t('wechat.code')}
            error={isSubmitted && code.trim() === '' ? t('code.missing') : null}
            value={code}
            onChange={(event) => setCode(event.currentTarget.value)}
            autoComplete="one-time-code"
            autoCapitalize="none"
            spellCheck={false}
            size="md"
          />
          <Button type="submit" size="md" loading={signIn.isPending} mt={4}>
            {t('signIn.submit')}
          </Button>
          <StepBack text={t('signIn.otherWay')} onClick={onBack} />
        </Stack>
      </form>
    </>
  );
}
