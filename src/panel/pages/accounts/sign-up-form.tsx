import { Button, Checkbox, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'react-router';
import { ApiError } from '../../api/api-error.ts';
import type { GatewayStatus } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useSession } from '../../session/session-context.tsx';
import { FailureNotice } from '../../ui/display/error-notice.tsx';
import { passwordFault, usernameFault } from '../setup/validate-account.ts';
import { addressFault } from './validate-email.ts';
import { hasLegalTexts, LegalText } from './legal-line.tsx';
import { readAffiliateCode } from './affiliate-code.ts';
import { SendCode } from './send-email-code.tsx';
import { showFault } from './field-error-text.ts';
import { useChallenge } from './use-captcha.tsx';

type SignUpFormProps = {
  status: GatewayStatus;
  onDone(username: string): void;
  /** The server says that it makes no accounts any more. */
  onClosed(): void;
};

const fields = ['username', 'password', 'email', 'verification_code'] as const;
type Field = (typeof fields)[number];
type Account = Record<Field, string>;

const empty: Account = { username: '', password: '', email: '', verification_code: '' };

export function SignUpForm({ status, onDone, onClosed }: SignUpFormProps) {
  const { t } = useTranslation();
  const session = useSession();
  const [params] = useSearchParams();
  const inputs = useRef<Partial<Record<Field, HTMLInputElement | null>>>({});
  const [typed, setTyped] = useState(empty);
  const [isChecked, setChecked] = useState(false);
  const [isAgreed, setAgreed] = useState(false);
  const agreement = useRef<HTMLInputElement>(null);
  const challenge = useChallenge(status);
  // An address with a mailed code is part of it.
  const confirmsAddress = status.email_verification;
  const mustAgree = hasLegalTexts(status);
  const [refusedAddress, setRefusedAddress] = useState<{ address: string; text: string } | null>(null);
  const focus = (field: Field): void => inputs.current[field]?.focus();

  const account: Account = {
    username: typed.username.trim(),
    password: typed.password,
    email: typed.email.trim(),
    verification_code: typed.verification_code.trim(),
  };
  const objections: Record<Field, TextKey | null> = {
    username: usernameFault(account.username),
    password: passwordFault(account.password),
    email: confirmsAddress ? addressFault(account.email) : null,
    verification_code: confirmsAddress && account.verification_code === '' ? 'signUp.codeMissing' : null,
  };

  const register = useMutation({
    mutationFn: ({ username, password, email, verification_code }: Account) => {
      const aff = readAffiliateCode(params);
      const body = {
        username,
        password,
        ...(confirmsAddress ? { email, verification_code } : {}),
        ...(aff === '' ? {} : { aff_code: aff }),
        ...challenge.take(),
      };
      return session.send({ method: 'POST', path: '/api/user/register', body });
    },
    onSuccess: (_answer, { username }) => onDone(username),
    onError: (error) => {
      if (error instanceof ApiError && error.code === 'AUTH_REGISTRATION_DISABLED') onClosed();
      const refused = fields.find((field) => showFault(error, field, t) !== null);
      if (refused) focus(refused);
    },
  });
  const isToldAtField = fields.some((field) => showFault(register.error, field, t) !== null);

  useEffect(() => inputs.current.username?.focus(), []);

  /**
   * What is wrong with a field: by the rules, then by the server's answer until the field is
   * changed.
   */
  const tell = (field: Field): string | null => {
    const objection = objections[field];
    if (isChecked && objection !== null) return t(objection);
    if (field === 'email' && refusedAddress?.address === account.email) return refusedAddress.text;
    return register.variables?.[field] === account[field] ? showFault(register.error, field, t) : null;
  };

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setChecked(true);
    const wrong = fields.find((field) => objections[field] !== null);
    if (wrong) focus(wrong);
    else if (mustAgree && !isAgreed) agreement.current?.focus();
    else if (!challenge.isMissing() && !register.isPending) register.mutate(account);
  };

  const bind = (field: Field) => ({
    ref: (input: HTMLInputElement | null) => {
      inputs.current[field] = input;
    },
    error: tell(field),
    value: typed[field],
    onChange: (event: { currentTarget: HTMLInputElement }) => {
      const { value } = event.currentTarget;
      setTyped((before) => ({ ...before, [field]: value }));
    },
    spellCheck: false,
    size: 'md' as const,
  });

  return (
    <form onSubmit={submit} noValidate>
      <Stack gap={20}>
        {register.isError && !isToldAtField && <FailureNotice error={register.error} />}
        <TextInput
          {...bind('username')}
          label={t('setup.username')}
          description={t('setup.usernameHint')}
          autoComplete="username"
          autoCapitalize="none"
        />
        <PasswordInput
          {...bind('password')}
          label={t('setup.password')}
          description={t('setup.passwordHint')}
          autoComplete="new-password"
          visibilityToggleButtonProps={{ 'aria-label': t('app.showPassword') }}
        />
        {confirmsAddress && (
          <>
            <Stack gap={12}>
              <TextInput
                {...bind('email')}
                type="email"
                label={t('account.email')}
                autoComplete="email"
                autoCapitalize="none"
              />
              {challenge.element}
              <SendCode
                email={account.email}
                challenge={challenge}
                onObjection={(text) => {
                  setRefusedAddress({ address: account.email, text });
                  focus('email');
                }}
                onSent={() => focus('verification_code')}
              />
            </Stack>
            <TextInput
              {...bind('verification_code')}
              label={t('signUp.code')}
              description={t('signUp.codeHint')}
              autoComplete="one-time-code"
              inputMode="numeric"
            />
          </>
        )}
        {!confirmsAddress && challenge.element}
        {mustAgree && (
          <Checkbox
            ref={agreement}
            checked={isAgreed}
            onChange={(event) => setAgreed(event.currentTarget.checked)}
            error={isChecked && !isAgreed ? t('legal.consent.missing') : null}
            label={<LegalText status={status} sentence="consent" />}
          />
        )}
        <Button type="submit" size="md" loading={register.isPending} mt={4}>
          {t('setup.submit')}
        </Button>
      </Stack>
    </form>
  );
}
