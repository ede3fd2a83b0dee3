import { Anchor, Button, Group, Modal, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { PasskeyUse, Proof, ProofNeed, ProofScope } from '../api/types.ts';
import { useChange } from '../api/use-api.ts';
import type { TextKey } from '../i18n/texts.ts';
import { FailureNotice } from '../ui/display/error-notice.tsx';
import { useForm } from '../ui/form/use-form.ts';
import { hasPasskeys, showPasskey } from './passkeys.ts';
import { useSession } from './session-context.tsx';

type Method = ProofNeed['methods'][number];

/** What is to be proven, by one of the methods; `error` says why the methods are not known. */
export type ProofAsk = { scope: ProofScope; methods: readonly Method[]; error: unknown };

/** `question` is what is asked or was asked last; each has an `id` of its own. */
type ProofDialogProps = {
  question: { id: number; ask: ProofAsk } | null;
  isOpen: boolean;
  onAnswer(proof: Proof | null): void;
};

/**
 * Forms in dialogs ask for a proof too, and are later in the document than this dialog; Mantine
 * gives all dialogs 200.
 */
const aboveForms = 250;

/** Asks for a code, a passkey or the password, whichever the account must confirm with. */
export function ProofDialog({ question, isOpen, onAnswer }: ProofDialogProps) {
  const { t } = useTranslation();
  const close = () => onAnswer(null);
  return (
    <Modal
      opened={isOpen}
      onClose={close}
      title={t('proof.title')}
      centered
      zIndex={aboveForms}
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      {question?.ask.error === null && <Ways key={question.id} {...question.ask} onProof={onAnswer} onClose={close} />}
      {question !== null && question.ask.error !== null && (
        <Stack gap="lg">
          <FailureNotice error={question.ask.error} />
          <Actions onClose={close} />
        </Stack>
      )}
    </Modal>
  );
}

type WaysProps = { scope: ProofScope; methods: readonly Method[]; onProof(proof: Proof): void; onClose(): void };

/** Codes first, since they work on every device; a passkey where the browser has any. */
function Ways({ scope, methods, onProof, onClose }: WaysProps) {
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
        <Actions onClose={onClose}>
          {methods.length === 0 && (
            <Button component={Link} to="/security" onClick={onClose}>
              {t('proof.toSecurity')}
            </Button>
          )}
        </Actions>
      </Stack>
    );
  }
  const switcher = other !== undefined && (
    <Anchor component="button" type="button" size="sm" onClick={() => setChosen(other)}>
      {t(switchTexts[other])}
    </Anchor>
  );
  return chosen === 'passkey' ? (
    <ByPasskey scope={scope} onProof={onProof} onClose={onClose} switcher={switcher} />
  ) : (
    <BySecret key={chosen} method={chosen} scope={scope} onProof={onProof} onClose={onClose} switcher={switcher} />
  );
}

const switchTexts: Record<Method, TextKey> = {
  '2fa': 'proof.useCode',
  passkey: 'proof.usePasskey',
  password: 'proof.usePassword',
};

type WayProps = { scope: ProofScope; onProof(proof: Proof): void; onClose(): void; switcher: ReactNode };

function BySecret({ method, scope, onProof, onClose, switcher }: WayProps & { method: '2fa' | 'password' }) {
  const { t } = useTranslation();
  const isCode = method === '2fa';
  const prove = useChange<string, Proof>({
    request: (secret) => ({
      method: 'POST',
      path: '/api/verify',
      body: { method, scope, ...(isCode ? { code: secret } : { password: secret }) },
    }),
    onSuccess: onProof,
  });
  const form = useForm({
    initial: { secret: '' },
    check: ({ secret }) => ({
      secret: secret.trim() === '' ? t(isCode ? 'code.missing' : 'signIn.passwordMissing') : null,
    }),
    read: ({ secret }) => (isCode ? secret.trim() : secret),
    change: prove,
  });
  return (
    <form onSubmit={form.submit} noValidate>
      <Stack gap="lg">
        <Text size="sm" lh={1.6}>
          {t(isCode ? 'proof.byCode' : 'proof.byPassword')}
        </Text>
        {form.error !== null && <FailureNotice error={form.error} />}
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
        <Actions onClose={onClose}>
          <Button type="submit" loading={form.isPending}>
            {t('proof.confirm')}
          </Button>
        </Actions>
      </Stack>
    </form>
  );
}

function ByPasskey({ scope, onProof, onClose, switcher }: WayProps) {
  const { t } = useTranslation();
  const session = useSession();
  const prove = useMutation({
    mutationFn: async (): Promise<Proof> => {
      const begun = await session.send<PasskeyUse>({
        method: 'POST',
        path: '/api/user/passkey/verify/begin',
        body: { scope },
      });
      const credential = await showPasskey(begun.options.publicKey);
      return session.send<Proof>({
        method: 'POST',
        path: '/api/user/passkey/verify/finish',
        body: { flow_token: begun.flow_token, credential },
      });
    },
    onSuccess: onProof,
  });
  return (
    <Stack gap="lg">
      <Text size="sm" lh={1.6}>
        {t('proof.byPasskey')}
      </Text>
      {prove.isError && <FailureNotice error={prove.error} />}
      {switcher}
      <Actions onClose={onClose}>
        <Button onClick={() => prove.mutate()} loading={prove.isPending} data-autofocus>
          {t('proof.askPasskey')}
        </Button>
      </Actions>
    </Stack>
  );
}

function Actions({ onClose, children }: { onClose(): void; children?: ReactNode }) {
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
