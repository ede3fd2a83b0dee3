import { Button, Group, Select, Stack, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { User } from '../../api/types.ts';
import { useApiMutation } from '../../api/use-api.ts';
import { languages, mailLanguage } from '../../i18n/languages.ts';
import { useSession } from '../../session/session-context.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { useForm } from '../../ui/form/use-form.ts';

const maxNameLength = 64;

/** Display name and mail language. */
export function ProfileDetails({ user }: { user: User }) {
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
    <form onSubmit={form.submit} noValidate>
      <Stack gap={20} maw={420}>
        {form.error !== null && <ErrorNotice error={form.error} />}
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
          error={form.errorOf('language')}
          allowDeselect={false}
        />
        <Group>
          <Button type="submit" loading={form.isPending} disabled={!form.isDirty}>
            {t('app.save')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
