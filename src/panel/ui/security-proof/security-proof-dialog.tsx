import { Anchor, Button, Group, Modal, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { PasskeyRequest, SecurityProof, SecurityProofRequirement, SecurityProofScope } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { getPasskeyAssertion, hasPasskeys } from '../../session/passkeys.ts';
import { useSession } from '../../session/session-context.tsx';
import { useApiMutation } from '../../session/use-api.ts';
import { ErrorNotice } from '../display/error-notice.tsx';
import { useForm } from '../form/use-form.ts';

type Method = SecurityProofRequirement['methods'][number];

/** The scope to prove and the accepted methods; `error` says why the methods are unknown. */
export type SecurityProofRequest = {
  scope: SecurityProofScope;
  methods: readonly Method[];
  error: unknown;
  purpose: ProofPurpose | undefined;
};

/** What the proof is for, as a sentence, and what the button says that goes on. */
export type ProofPurpose = { reason: string; action: string };

/** `question` is the current or last request; each has its own `id`. */
type SecurityProofDialogProps = {
  question: { id: number; request: SecurityProofRequest } | null;
  isOpen: boolean;
  onProof(proof: SecurityProof | null): void;
};

/**
 * Above dialogs that contain forms, which come later in the document; Mantine gives all dialogs
 * 200.
 */
const zIndexAboveForms = 250;

/** Asks for a code, a passkey or the password, whichever the account has to confirm with. */
export function SecurityProofDialog({ question, isOpen, onProof }: SecurityProofDialogProps) {
  const { t } = useTranslation();
  const close = () => onProof(null);
  return (
    <Modal
      opened={isOpen}
      onClose={close}
      title={t('proof.title')}
      zIndex={zIndexAboveForms}
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      {question?.request.error === null && (
        <MethodPicker key={question.id} {...question.request} onProof={onProof} onClose={close} />
      )}
      {question !== null && question.request.error !== null && (
        <Stack gap="lg">
          <ErrorNotice error={question.request.error} />
          <DialogButtons onClose={close} />
        </Stack>
      )}
    </Modal>
  );
}

type MethodPickerProps = {
  scope: SecurityProofScope;
  methods: readonly Method[];
  purpose: ProofPurpose | undefined;
  onProof(proof: SecurityProof): void;
  onClose(): void;
};

/** Codes come first, since they work on every device; a passkey only if the browser supports it. */
function MethodPicker({ scope, methods, purpose, onProof, onClose }: MethodPickerProps) {
  const { t } = useTranslation();
  const usable = methods.filter((method) => method !== 'passkey' || hasPasskeys());
  const [chosen, setChosen] = useState<Method | undefined>(usable[0]);
  const other = usable.find((method) => method !== chosen);

  if (chosen === undefined) {
    return (
      <Stack gap="lg">
        <Text size="sm" lh={1.6}>
          {t(methods.length === 0 ? 'proof.nothing' : 'proof.insecure')}
        </Text>
        <DialogButtons onClose={onClose}>
          {methods.length === 0 && (
            <Button component={Link} to="/security" onClick={onClose}>
              {t('proof.toSecurity')}
            </Button>
          )}
        </DialogButtons>
      </Stack>
    );
  }
  const switcher = other !== undefined && (
    <Anchor component="button" type="button" size="sm" onClick={() => setChosen(other)}>
      {t(switchTexts[other])}
    </Anchor>
  );
  const method = { scope, purpose, onProof, onClose, switcher };
  return chosen === 'passkey' ? (
    <PasskeyMethod {...method} />
  ) : (
    <SecretMethod key={chosen} method={chosen} {...method} />
  );
}

const switchTexts: Record<Method, TextKey> = {
  '2fa': 'proof.useCode',
  passkey: 'proof.usePasskey',
  password: 'proof.usePassword',
};

type MethodProps = {
  scope: SecurityProofScope;
  purpose: ProofPurpose | undefined;
  onProof(proof: SecurityProof): void;
  onClose(): void;
  switcher: ReactNode;
};

function SecretMethod({
  method,
  scope,
  purpose,
  onProof,
  onClose,
  switcher,
}: MethodProps & { method: '2fa' | 'password' }) {
  const { t } = useTranslation();
  const isCode = method === '2fa';
  const prove = useApiMutation<string, SecurityProof>({
    request: (secret) => ({
      method: 'POST',
      path: '/api/verify',
      body: { method, scope, ...(isCode ? { code: secret } : { password: secret }) },
    }),
    onSuccess: onProof,
  });
  const form = useForm({
    initial: { secret: '' },
    validate: ({ secret }) => ({
      secret: secret.trim() === '' ? t(isCode ? 'code.missing' : 'signIn.passwordMissing') : null,
    }),
    toVariables: ({ secret }) => (isCode ? secret.trim() : secret),
    change: prove,
  });
  return (
    <form onSubmit={form.submit} noValidate>
      <Stack gap="lg">
        <Text size="sm" lh={1.6}>
          {purpose?.reason ?? t('proof.protected')} {t(isCode ? 'proof.byCode' : 'proof.byPassword')}
        </Text>
        {form.error !== null && <ErrorNotice error={form.error} />}
        {isCode ? (
          <TextInput
            {...form.bind('secret')}
            label={t('code.label')}
            description={t('code.hint')}
            autoComplete="one-time-code"
            autoCapitalize="characters"
            spellCheck={false}
            data-autofocus
          />
        ) : (
          <PasswordInput
            {...form.bind('secret')}
            label={t('signIn.password')}
            autoComplete="current-password"
            visibilityToggleButtonProps={{ 'aria-label': t('app.showPassword') }}
            data-autofocus
          />
        )}
        {switcher}
        <DialogButtons onClose={onClose}>
          <Button type="submit" loading={form.isPending}>
            {purpose?.action ?? t('proof.confirm')}
          </Button>
        </DialogButtons>
      </Stack>
    </form>
  );
}

function PasskeyMethod({ scope, purpose, onProof, onClose, switcher }: MethodProps) {
  const { t } = useTranslation();
  const session = useSession();
  const prove = useMutation({
    mutationFn: async (): Promise<SecurityProof> => {
      const ceremony = await session.send<PasskeyRequest>({
        method: 'POST',
        path: '/api/user/passkey/verify/begin',
        body: { scope },
      });
      const credential = await getPasskeyAssertion(ceremony.options.publicKey);
      return session.send<SecurityProof>({
        method: 'POST',
        path: '/api/user/passkey/verify/finish',
        body: { flow_token: ceremony.flow_token, credential },
      });
    },
    onSuccess: onProof,
  });
  return (
    <Stack gap="lg">
      <Text size="sm" lh={1.6}>
        {purpose?.reason ?? t('proof.protected')} {t('proof.byPasskey')}
      </Text>
      {prove.isError && <ErrorNotice error={prove.error} />}
      {switcher}
      <DialogButtons onClose={onClose}>
        <Button onClick={() => prove.mutate()} loading={prove.isPending} data-autofocus>
          {t('proof.askPasskey')}
        </Button>
      </DialogButtons>
    </Stack>
  );
}

function DialogButtons({ onClose, children }: { onClose(): void; children?: ReactNode }) {
  const { t } = useTranslation();
  return (
    <Group justify="flex-end" gap="sm">
      <Button variant="default" onClick={onClose}>
        {t('app.cancel')}
      </Button>
      {children}
    </Group>
  );
}
