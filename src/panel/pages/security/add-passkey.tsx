import { Button, Group, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { PasskeyCreation, SessionRotation } from '../../api/types.ts';
import { parseUserAgent } from '../../session/parse-user-agent.ts';
import { createPasskey } from '../../session/passkeys.ts';
import { useSecurityProof } from '../../session/security-proof.tsx';
import { useSession } from '../../session/session-context.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { InlineForm, useInlineForm } from '../../ui/form/inline-form.tsx';
import { useForm } from '../../ui/form/use-form.ts';

/** Creates a passkey: a name, a Security Proof if required, then the browser's dialog. */
export function AddPasskey() {
  const { t } = useTranslation();
  const form = useInlineForm();
  if (form.isOpen) return <AddForm onDone={form.close} />;
  return (
    <Group>
      <Button variant="default" ref={form.opener} onClick={form.open}>
        {t('security.passkeys.add')}
      </Button>
    </Group>
  );
}

function AddForm({ onDone }: { onDone(): void }) {
  const { t } = useTranslation();
  const session = useSession();
  const queries = useQueryClient();
  const requestProof = useSecurityProof();
  const device = parseUserAgent(navigator.userAgent);
  const add = useMutation({
    /** Resolves to the new passkey's name; null if the user cancels. */
    mutationFn: async (name: string): Promise<string | null> => {
      const proof = await requestProof('passkey.register');
      if (proof === null) return null;
      const path = '/api/user/passkey/register';
      const headers = { 'x-security-proof': proof };
      const ceremony = await session.send<PasskeyCreation>({ method: 'POST', path: `${path}/begin`, headers });
      const credential = await createPasskey(ceremony.options.publicKey);
      const body = { flow_token: ceremony.flow_token, credential, name };
      session.adopt(await session.send<SessionRotation>({ method: 'POST', path: `${path}/finish`, headers, body }));
      await queries.invalidateQueries({ queryKey: ['api'] });
      return name;
    },
    onSuccess: (name) => {
      if (name === null) return;
      notifySuccess(t('security.passkeys.added', { name }));
      onDone();
    },
  });
  const form = useForm({
    initial: { name: device === null ? '' : t('home.device', device) },
    validate: ({ name }) => ({ name: name.trim() === '' ? t('security.passkeys.nameMissing') : null }),
    toVariables: ({ name }) => name.trim(),
    change: add,
  });
  return (
    <InlineForm form={form} action={t('security.passkeys.continue')} onCancel={onDone}>
      <TextInput
        {...form.bind('name')}
        label={t('security.passkeys.name')}
        description={t('security.passkeys.nameHint')}
        maxLength={64}
        autoFocus
      />
    </InlineForm>
  );
}
