import { Button, Group, Text, TextInput } from '@mantine/core';
import { IconFingerprint } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { parseUserAgent } from '../../../kernel/user-agents.ts';
import type { GatewayStatus, Passkey, PasskeyCreation, SessionRotation } from '../../api/types.ts';
import { createPasskey, hasPasskeys } from '../../session/passkeys.ts';
import { useSession } from '../../session/session-context.tsx';
import { useApiMutation, useApiQuery } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { InlineForm, useInlineForm } from '../../ui/form/inline-form.tsx';
import { useForm } from '../../ui/form/use-form.ts';
import { SettingsBlock } from '../../ui/page/section.tsx';
import { useSecurityProof } from '../../ui/security-proof/security-proof.tsx';
import { DotSeparated, Item, ItemList } from './item-list.tsx';
import { useSecurityMutation } from './use-security-mutation.ts';

export const passkeysPath = '/api/user/passkey';

/** The account's passkeys; if this browser cannot create one, the reason. */
export function Passkeys({ status }: { status: GatewayStatus }) {
  const { t } = useTranslation();
  const list = useApiQuery<Passkey[]>(passkeysPath);
  return (
    <SettingsBlock heading={t('security.passkeys')} intro={t('security.passkeys.intro')}>
      <QueryResult query={list}>
        {(passkeys) => (
          <>
            {passkeys.length > 0 && (
              <ItemList label={t('security.passkeys')}>
                {passkeys.map((passkey) => (
                  <PasskeyItem key={passkey.id} passkey={passkey} />
                ))}
              </ItemList>
            )}
            <AddPasskeyOrReason status={status} hasNone={passkeys.length === 0} />
          </>
        )}
      </QueryResult>
    </SettingsBlock>
  );
}

function AddPasskeyOrReason({ status, hasNone }: { status: GatewayStatus; hasNone: boolean }) {
  const { t } = useTranslation();
  const origins = status.passkey_origins.split(',').filter((origin) => origin !== '');
  const reason = !status.passkey_login
    ? t('security.passkeys.off')
    : !origins.includes(window.location.origin)
      ? t('security.passkeys.elsewhere', { origin: origins[0] ?? '' })
      : hasPasskeys()
        ? null
        : t('security.passkeys.unable');
  if (reason === null) return <AddPasskey hasNone={hasNone} />;
  return (
    <>
      {hasNone && <Text size="sm">{t('security.passkeys.none')}</Text>}
      <Text size="sm" c="dimmed" lh={1.6}>
        {reason}
      </Text>
    </>
  );
}

function PasskeyItem({ passkey }: { passkey: Passkey }) {
  const { t } = useTranslation();
  const format = useFormat();
  const confirm = useConfirm();
  const requestProof = useSecurityProof();
  const renaming = useInlineForm();
  const remove = useSecurityMutation<string, SessionRotation>({
    request: (proof) => ({
      method: 'DELETE',
      path: `/api/user/passkey/${passkey.id}`,
      headers: { 'x-security-proof': proof },
    }),
    onSuccess: () => notifySuccess(t('security.passkeys.deleted', { name: passkey.name })),
  });
  const ask = async (): Promise<void> => {
    const question = {
      title: t('security.passkeys.deleteTitle', { name: passkey.name }),
      text: t('security.passkeys.deleteText'),
      action: t('app.delete'),
    };
    if (!(await confirm(question))) return;
    const proof = await requestProof('passkey.delete');
    if (proof !== null) remove.mutate(proof);
  };
  if (renaming.isOpen) return <RenamePasskey passkey={passkey} onDone={renaming.close} />;
  const details = [
    t('security.passkeys.made', { date: format.date(passkey.created_at) }),
    passkey.last_used_at === 0
      ? t('security.passkeys.unused')
      : t('keys.usedAgo', { ago: format.ago(passkey.last_used_at) }),
    t(passkey.backed_up ? 'security.passkeys.synced' : 'security.passkeys.bound'),
    ...(passkey.usable ? [] : [t('security.passkeys.unusable')]),
  ];
  return (
    <Item
      icon={<IconFingerprint size={22} stroke={1.6} />}
      title={passkey.name}
      details={
        <>
          <DotSeparated parts={details} />
          {remove.isError && <ErrorNotice error={remove.error} />}
        </>
      }
      actions={
        <>
          <Button
            variant="default"
            size="xs"
            aria-label={t('security.passkeys.renameNamed', { name: passkey.name })}
            ref={renaming.opener}
            onClick={renaming.open}
          >
            {t('security.passkeys.rename')}
          </Button>
          <Button
            variant="default"
            size="xs"
            loading={remove.isPending}
            aria-label={t('security.passkeys.deleteNamed', { name: passkey.name })}
            onClick={() => void ask()}
          >
            {t('app.delete')}
          </Button>
        </>
      }
    />
  );
}

function RenamePasskey({ passkey, onDone }: { passkey: Passkey; onDone(): void }) {
  const { t } = useTranslation();
  const rename = useApiMutation<{ name: string }>({
    request: (body) => ({ method: 'PUT', path: `/api/user/passkey/${passkey.id}`, body }),
    invalidates: [passkeysPath],
    onSuccess: onDone,
  });
  const form = useForm({
    initial: { name: passkey.name },
    validate: ({ name }) => ({ name: name.trim() === '' ? t('security.passkeys.nameMissing') : null }),
    toVariables: ({ name }) => ({ name: name.trim() }),
    change: rename,
  });
  return (
    <Item
      title={
        <form onSubmit={form.submit} noValidate style={{ flex: 1 }}>
          {form.error !== null && <ErrorNotice error={form.error} />}
          <Group gap="sm" align="flex-start">
            <TextInput
              {...form.bind('name')}
              aria-label={t('security.passkeys.name')}
              autoFocus
              maxLength={64}
              flex="1 1 180px"
            />
            <Button type="submit" loading={form.isPending}>
              {t('app.save')}
            </Button>
            <Button variant="default" onClick={onDone}>
              {t('app.cancel')}
            </Button>
          </Group>
        </form>
      }
    />
  );
}

/** Creates a passkey: a name, a Security Proof if required, then the browser's dialog. */
function AddPasskey({ hasNone }: { hasNone: boolean }) {
  const { t } = useTranslation();
  const form = useInlineForm();
  if (form.isOpen) return <AddForm onDone={form.close} />;
  return (
    <>
      {hasNone && <Text size="sm">{t('security.passkeys.none')}</Text>}
      <Group>
        <Button variant="default" ref={form.opener} onClick={form.open}>
          {t('security.passkeys.add')}
        </Button>
      </Group>
    </>
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
    <InlineForm
      form={form}
      action={t('security.passkeys.add')}
      note={t('security.passkeys.signsOut')}
      onCancel={onDone}
    >
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
