import { Button, Group, Select, Skeleton, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import type { GatewayStatus, User } from '../../api/types.ts';
import { languages, mailLanguage } from '../../i18n/languages.ts';
import { roles, roleTextKey } from '../../session/roles.ts';
import { useGatewayStatus, useSession } from '../../session/session-context.tsx';
import { useApiMutation, useApiQuery } from '../../session/use-api.ts';
import { CopyField } from '../../ui/display/copy-field.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { DescriptionList } from '../../ui/display/figures.tsx';
import { LocalAddressNotice } from '../../ui/display/local-address-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { type Format, useFormat } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { SaveForm } from '../../ui/form/inline-form.tsx';
import { useForm } from '../../ui/form/use-form.ts';
import { Page } from '../../ui/page/page.tsx';
import { SettingsBlock } from '../../ui/page/section.tsx';
import { useSecurityProof } from '../../ui/security-proof/security-proof.tsx';
import { downloadBlob } from '../../ui/table/export-menu.tsx';
import { EmailAddress } from './email-address.tsx';

/** The user's own account. */
export function ProfilePage() {
  const { t } = useTranslation();
  const self = useApiQuery<User>('/api/user/self');
  const status = useGatewayStatus();
  return (
    <Page heading={t('nav.profile')} intro={t('profile.intro')}>
      <div>
        <QueryResult query={self}>
          {(user) => (
            <>
              <SettingsBlock heading={t('profile.you')} intro={t('profile.you.intro')}>
                <DescriptionList
                  entries={[
                    [t('home.account.name'), user.username],
                    [t('home.account.role'), t(roleTextKey(user.role))],
                    [t('home.account.group'), user.group],
                  ]}
                />
                <ProfileDetails user={user} />
              </SettingsBlock>
              <EmailAddress user={user} />
              {status.data?.register_enabled === true && <InviteLink status={status.data} />}
              <ExportAccount />
              <DeleteAccount user={user} />
            </>
          )}
        </QueryResult>
      </div>
    </Page>
  );
}

const maxNameLength = 64;

/** Display name and mail language. */
function ProfileDetails({ user }: { user: User }) {
  const { t } = useTranslation();
  const session = useSession();
  const save = useApiMutation<{ display_name: string; language: string }, User>({
    request: (body) => ({ method: 'PUT', path: '/api/user/self', body }),
    invalidates: ['/api/user/self'],
    onSuccess: (saved) => {
      session.adopt({ user: saved });
      form.reset({ display_name: saved.display_name, language: mailLanguage(saved.language) });
      notifySuccess(t('app.saved'));
    },
  });
  const form = useForm({
    initial: { display_name: user.display_name, language: mailLanguage(user.language) },
    validate: ({ display_name }) => ({
      display_name: [...display_name.trim()].length > maxNameLength ? t('profile.nameLong') : null,
    }),
    toVariables: ({ display_name, language }) => ({ display_name: display_name.trim(), language }),
    change: save,
  });
  return (
    <SaveForm form={form} maxWidth={420}>
      <TextInput
        {...form.bind('display_name')}
        label={t('profile.name')}
        description={t('profile.nameHint')}
        autoComplete="name"
      />
      <Select
        label={t('profile.language')}
        description={t('profile.languageHint')}
        data={Object.entries(languages).map(([value, { name }]) => ({ value, label: name }))}
        value={form.values.language}
        onChange={(value) => value !== null && form.set('language', value)}
        error={form.readError('language')}
        allowDeselect={false}
      />
    </SaveForm>
  );
}

/** The sign-up link that credits new users to this account. */
function InviteLink({ status }: { status: GatewayStatus }) {
  const { t } = useTranslation();
  const format = useFormat();
  const code = useApiQuery<string>('/api/user/aff');
  const origin = (status.server_address || window.location.origin).replace(/\/+$/, '');
  return (
    <SettingsBlock heading={t('profile.invite')} intro={describeCredit(status, { t, format })}>
      <QueryResult query={code} pending={<Skeleton h={48} />}>
        {(aff) => (
          <div>
            <LocalAddressNotice url={origin} />
            <CopyField text={`${origin}/sign-up?aff=${encodeURIComponent(aff)}`} />
          </div>
        )}
      </QueryResult>
    </SettingsBlock>
  );
}

/** What an invitation brings, and whom. */
function describeCredit(
  { inviter_credit: yours, invitee_credit: theirs }: GatewayStatus,
  { t, format }: { t: TFunction; format: Format },
): string {
  if (yours > 0 && yours === theirs) return t('profile.invite.each', { amount: format.money(yours) });
  const sentences = [
    yours > 0 && t('profile.invite.yours', { amount: format.money(yours) }),
    theirs > 0 && t('profile.invite.theirs', { amount: format.money(theirs) }),
  ];
  return sentences.filter(Boolean).join(' ') || t('profile.invite.none');
}

/** A large account takes its time. */
const timeoutMs = 600_000;

/** Downloads everything that the gateway holds about the user. */
function ExportAccount() {
  const { t } = useTranslation();
  const session = useSession();
  const requestProof = useSecurityProof();
  const exportAll = useMutation({
    mutationFn: async (proof: string) => {
      const headers = { 'x-security-proof': proof };
      const path = '/api/user/self/export';
      const blob = await session.send<Blob>({ method: 'POST', path, headers, as: 'blob', timeoutMs });
      downloadBlob('taskgate-export.json', blob);
    },
  });
  const ask = async (): Promise<void> => {
    const proof = await requestProof('account.export');
    if (proof !== null) exportAll.mutate(proof);
  };
  return (
    <SettingsBlock heading={t('profile.export')} intro={t('profile.export.intro')}>
      {exportAll.isError && <ErrorNotice error={exportAll.error} />}
      <Group>
        <Button variant="default" loading={exportAll.isPending} onClick={() => void ask()}>
          {t('profile.export.action')}
        </Button>
      </Group>
    </SettingsBlock>
  );
}

/** Deletes the user's own account; root cannot delete theirs. */
function DeleteAccount({ user }: { user: User }) {
  const { t } = useTranslation();
  const session = useSession();
  const confirm = useConfirm();
  const format = useFormat();
  const requestProof = useSecurityProof();
  const remove = useMutation({
    mutationFn: async (proof: string) => {
      await session.send({ method: 'DELETE', path: '/api/user/self', headers: { 'x-security-proof': proof } });
      // The account and its sessions are gone; this clears what the browser still holds.
      await session.signOut();
    },
  });
  const ask = async (): Promise<void> => {
    const question = {
      title: t('profile.delete.title'),
      text: (
        <>
          {user.quota > 0 && (
            <Text fw={600} inherit mb="xs">
              {t('profile.delete.balance', { sum: format.money(user.quota) })}
            </Text>
          )}
          {t('profile.delete.text')}
        </>
      ),
      action: t('profile.delete'),
      typed: user.username,
    };
    if (!(await confirm(question))) return;
    const proof = await requestProof('account.delete');
    if (proof !== null) remove.mutate(proof);
  };
  if (user.role >= roles.root) return null;
  return (
    <SettingsBlock heading={t('profile.delete')} intro={t('profile.delete.intro')}>
      {remove.isError && <ErrorNotice error={remove.error} />}
      <Group>
        <Button variant="light" color="red" loading={remove.isPending} onClick={() => void ask()}>
          {t('profile.delete')}
        </Button>
      </Group>
    </SettingsBlock>
  );
}
