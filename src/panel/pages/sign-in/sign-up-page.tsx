import { Anchor, Button, Checkbox, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useSearchParams } from 'react-router';
import { QUOTA_PER_USD } from '../../../kernel/quota.ts';
import { ApiError } from '../../api/api-error.ts';
import type { GatewayStatus } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useSession } from '../../session/session-context.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { PageHeading } from '../../ui/page/page-heading.tsx';
import { WelcomeLayout } from '../../ui/page/welcome-layout.tsx';
import { AccountMessage } from '../accounts/account-message.tsx';
import { useCaptcha } from '../accounts/captcha.tsx';
import { hasLegalTexts, LegalText } from '../accounts/legal-line.tsx';
import { affiliateQuery, readAffiliateCode } from '../accounts/link-parameters.ts';
import { SendEmailCode } from '../accounts/send-email-code.tsx';
import { fieldErrorText, validateEmail, validatePassword, validateUsername } from '../accounts/validate-account.ts';
import { WithGatewayStatus } from '../accounts/with-gateway-status.tsx';
import { SignUpWithProvider } from './other-sign-in-methods.tsx';

/** Registration with a password, where the gateway allows it. */
export function SignUpPage() {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [createdName, setCreatedName] = useState<string | null>(null);
  const session = useSession();
  const title = t('signUp.title');
  // The account has no second factor yet, so its password signs in. If that fails, the account is
  // there all the same.
  const signIn = async (account: Credentials): Promise<void> => {
    try {
      await session.signIn(account.username, account.password);
    } catch {
      setCreatedName(account.username);
    }
  };
  const toSignIn = { to: '/sign-in', text: t('account.toSignIn') };

  return (
    <WithGatewayStatus>
      {(status) => (
        <WelcomeLayout>
          {createdName !== null ? (
            <AccountMessage
              title={title}
              heading={t('signUp.done.heading')}
              text={t('signUp.done.text', { username: createdName })}
              next={{ to: '/sign-in', text: t('setup.done.next'), state: { username: createdName } }}
            />
          ) : !status.password_register_enabled ? (
            <AccountMessage
              title={title}
              heading={t('signUp.closed.heading')}
              text={t('signUp.closed.text')}
              next={toSignIn}
            />
          ) : (
            <SignUp
              status={status}
              onDone={(account) => {
                if (status.password_login_enabled) void signIn(account);
                else setCreatedName(account.username);
              }}
              onClosed={() => void queries.invalidateQueries({ queryKey: ['status'] })}
            />
          )}
        </WelcomeLayout>
      )}
    </WithGatewayStatus>
  );
}

type Credentials = { username: string; password: string };

type SignUpProps = {
  status: GatewayStatus;
  onDone(account: Credentials): void;
  /** The server says that registration is closed. */
  onClosed(): void;
};

/** The ways to an account. One consent holds for all of them. */
function SignUp(props: SignUpProps) {
  const { t } = useTranslation();
  const { status } = props;
  const isInvited = readAffiliateCode(useSearchParams()[0]) !== '';
  const credit = status.new_user_credit / QUOTA_PER_USD;
  const invitedCredit = isInvited ? status.invitee_credit / QUOTA_PER_USD : 0;
  const intro = [
    t('signUp.intro'),
    credit > 0 && t('signUp.credit', { amount: credit }),
    invitedCredit > 0 && t('signUp.creditInvited', { amount: invitedCredit }),
  ];
  const [isAgreed, setAgreed] = useState(false);
  const [isAsked, setAsked] = useState(false);
  const agreement = useRef<HTMLInputElement>(null);
  const askConsent = (): boolean => {
    setAsked(true);
    if (isAgreed || !hasLegalTexts(status)) return true;
    agreement.current?.focus();
    return false;
  };
  return (
    <Stack gap={32}>
      <PageHeading title={t('signUp.title')} heading={t('signUp.heading')} intro={intro.filter(Boolean).join(' ')} />
      <SignUpForm {...props} askConsent={askConsent}>
        {hasLegalTexts(status) && (
          <Checkbox
            ref={agreement}
            checked={isAgreed}
            onChange={(event) => setAgreed(event.currentTarget.checked)}
            error={isAsked && !isAgreed ? t('legal.consent.missing') : null}
            label={<LegalText status={status} sentence="consent" />}
          />
        )}
      </SignUpForm>
      <SignUpWithProvider status={status} askConsent={askConsent} />
      <HaveAccount />
    </Stack>
  );
}

type SignUpFormProps = SignUpProps & {
  /** Whether the consent is given; else its field gets the focus. */
  askConsent(): boolean;
  /** What stands above the button. */
  children: ReactNode;
};

const fields = ['username', 'password', 'email', 'verification_code'] as const;
type Field = (typeof fields)[number];
type Account = Record<Field, string>;

const emptyAccount: Account = { username: '', password: '', email: '', verification_code: '' };

function SignUpForm({ status, onDone, onClosed, askConsent, children }: SignUpFormProps) {
  const { t, i18n } = useTranslation();
  const session = useSession();
  const [params] = useSearchParams();
  const inputs = useRef<Partial<Record<Field, HTMLInputElement | null>>>({});
  const [values, setValues] = useState(emptyAccount);
  const [isSubmitted, setSubmitted] = useState(false);
  const captcha = useCaptcha(status);
  // With email verification, the address and its code are part of the form.
  const confirmsAddress = status.email_verification;
  const [refusedAddress, setRefusedAddress] = useState<{ address: string; text: string } | null>(null);
  const focus = (field: Field): void => inputs.current[field]?.focus();

  const account: Account = {
    username: values.username.trim(),
    password: values.password,
    email: values.email.trim(),
    verification_code: values.verification_code.trim(),
  };
  const validationErrors: Record<Field, TextKey | null> = {
    username: validateUsername(account.username),
    password: validatePassword(account.password),
    email: confirmsAddress ? validateEmail(account.email) : null,
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
        ...captcha.take(),
      };
      return session.send({ method: 'POST', path: '/api/user/register', body });
    },
    onSuccess: (_answer, { username, password }) => onDone({ username, password }),
    onError: (error) => {
      if (error instanceof ApiError && error.code === 'AUTH_REGISTRATION_DISABLED') onClosed();
      const refused = fields.find((field) => fieldErrorText(error, field, { t, language: i18n.language }) !== null);
      if (refused) focus(refused);
    },
  });
  const hasFieldError = fields.some(
    (field) => fieldErrorText(register.error, field, { t, language: i18n.language }) !== null,
  );

  useEffect(() => inputs.current.username?.focus(), []);

  /** The error of a field: a failed validation, or the server's error until the field changes. */
  const readError = (field: Field): string | null => {
    const validationError = validationErrors[field];
    if (isSubmitted && validationError !== null) return t(validationError);
    if (field === 'email' && refusedAddress?.address === account.email) return refusedAddress.text;
    return register.variables?.[field] === account[field]
      ? fieldErrorText(register.error, field, { t, language: i18n.language })
      : null;
  };

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setSubmitted(true);
    const firstInvalid = fields.find((field) => validationErrors[field] !== null);
    if (firstInvalid) focus(firstInvalid);
    else if (askConsent() && !captcha.isMissing() && !register.isPending) register.mutate(account);
  };

  const bind = (field: Field) => ({
    ref: (input: HTMLInputElement | null) => {
      inputs.current[field] = input;
    },
    error: readError(field),
    value: values[field],
    onChange: (event: { currentTarget: HTMLInputElement }) => {
      const { value } = event.currentTarget;
      setValues((before) => ({ ...before, [field]: value }));
    },
    spellCheck: false,
    size: 'md' as const,
  });

  return (
    <form onSubmit={submit} noValidate>
      <Stack gap={20}>
        {register.isError && !hasFieldError && <ErrorNotice error={register.error} />}
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
              {captcha.element}
              <SendEmailCode
                email={account.email}
                captcha={captcha}
                onInvalidEmail={(text) => {
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
        {!confirmsAddress && captcha.element}
        {children}
        <Button type="submit" size="md" loading={register.isPending} mt={4}>
          {t('setup.submit')}
        </Button>
      </Stack>
    </form>
  );
}

function HaveAccount() {
  const { t } = useTranslation();
  const [params] = useSearchParams();
  return (
    <Text size="sm">
      {t('signUp.haveAccount')}{' '}
      <Anchor component={Link} to={`/sign-in${affiliateQuery(params)}`} underline="always">
        {t('signIn.submit')}
      </Anchor>
    </Text>
  );
}
