import { Anchor, Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { ApiKey, WebhookSecret } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { useApiMutation, useSingleMutation } from '../../session/use-api.ts';
import { OneTimeSecret } from '../../ui/display/copy-field.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { useFormat } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { SaveForm } from '../../ui/form/inline-form.tsx';
import type { Form } from '../../ui/form/use-form.ts';
import { useForm } from '../../ui/form/use-form.ts';
import { Section } from '../../ui/page/section.tsx';
import { toFormValues, validateKey } from './key-form.tsx';

/** The webhook address of a key's tasks, and the secret that signs its deliveries. */
export function KeyWebhook({ apiKey }: { apiKey: ApiKey }) {
  const { t } = useTranslation();
  const session = useSession();
  const queries = useQueryClient();
  const [secret, setSecret] = useState<WebhookSecret | null>(null);
  const path = `/api/token/${apiKey.id}`;
  const save = useSingleMutation({
    // The API refuses an address without a signing secret, so the first secret is created here.
    mutationFn: async (address: string) => {
      if (address !== '' && apiKey.webhook_secret === 'none' && secret === null) {
        setSecret(await session.send<WebhookSecret>({ method: 'POST', path: `${path}/webhook-secret` }));
      }
      const saved = await session.send<ApiKey>({ method: 'PUT', path, body: { webhook_url: address || null } });
      await queries.invalidateQueries({ queryKey: ['api', path] });
      return saved;
    },
    onSuccess: (saved) => {
      form.reset({ webhook_url: saved.webhook_url ?? '' });
      notifySuccess(t('app.saved'));
    },
  });
  const form = useForm({
    initial: { webhook_url: apiKey.webhook_url ?? '' },
    validate: (values) => ({ webhook_url: validateKey({ ...toFormValues(apiKey), ...values }, t).webhook_url }),
    toVariables: (values) => values.webhook_url.trim(),
    change: save,
  });
  return (
    <Section
      heading={t('keys.webhook')}
      intro={
        <>
          {t('keys.webhookIntro')}{' '}
          <Anchor component={Link} to="/reference" inherit underline="always">
            {t('home.reference')}
          </Anchor>
        </>
      }
    >
      <SaveForm form={form}>
        <WebhookInput {...form.bind('webhook_url')} />
      </SaveForm>
      <Secret apiKey={apiKey} shown={secret} onCreated={setSecret} />
    </Section>
  );
}

type SecretProps = { apiKey: ApiKey; shown: WebhookSecret | null; onCreated(secret: WebhookSecret): void };

function Secret({ apiKey, shown, onCreated }: SecretProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const confirm = useConfirm();
  const rotate = useApiMutation<void, WebhookSecret>({
    request: () => ({ method: 'POST', path: `/api/token/${apiKey.id}/webhook-secret` }),
    invalidates: [`/api/token/${apiKey.id}`],
    // The secret is shown only once, so it is taken before anything is refetched.
    onResponse: onCreated,
  });
  const isNew = apiKey.webhook_secret === 'none';
  const confirmAndRotate = async (): Promise<void> => {
    const question = {
      title: t('keys.secret.rotateTitle'),
      text: t('keys.secret.rotateText'),
      action: t('keys.secret.rotate'),
      destructive: false,
    };
    if (await confirm(question)) rotate.mutate();
  };
  if (shown !== null) {
    const text =
      shown.former_until === 0
        ? t('keys.secret.text')
        : t('keys.secret.textRotated', { time: format.time(shown.former_until) });
    return <OneTimeSecret heading={t('keys.secret.once')} text={text} secret={shown.secret} />;
  }
  const state =
    apiKey.webhook_secret === 'unreadable'
      ? t('keys.secret.unreadable')
      : isNew
        ? t('keys.secret.none')
        : apiKey.webhook_former_until > Date.now() / 1000
          ? t('keys.secret.two', { time: format.time(apiKey.webhook_former_until) })
          : t('keys.secret.ready');
  return (
    <Stack gap="sm">
      {rotate.isError && <ErrorNotice error={rotate.error} />}
      <Text size="sm" c="dimmed" lh={1.6}>
        {state}
      </Text>
      {!isNew && (
        <Group>
          <Button variant="default" loading={rotate.isPending} onClick={() => void confirmAndRotate()}>
            {t('keys.secret.rotate')}
          </Button>
        </Group>
      )}
    </Stack>
  );
}

type WebhookInputProps = ReturnType<Form<{ webhook_url: string }>['bind']> & {
  /** What it receives; absent: of a key. */
  help?: string;
};

/** The form field of a webhook address. */
export function WebhookInput({ help, ...field }: WebhookInputProps) {
  const { t } = useTranslation();
  return (
    <TextInput
      {...field}
      label={t('keys.webhookUrl')}
      description={help ?? t('keys.webhookUrlHint')}
      placeholder="https://"
      inputMode="url"
      spellCheck={false}
      autoComplete="off"
    />
  );
}
