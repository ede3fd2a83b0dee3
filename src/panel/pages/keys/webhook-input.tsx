import { TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Form } from '../../ui/form/use-form.ts';

/** The form field of a key's webhook address. */
export function WebhookInput(field: ReturnType<Form<{ webhook_url: string }>['bind']>) {
  const { t } = useTranslation();
  return (
    <TextInput
      {...field}
      label={t('keys.webhookUrl')}
      description={t('keys.webhookUrlHint')}
      placeholder="https://"
      inputMode="url"
      spellCheck={false}
      autoComplete="off"
    />
  );
}
