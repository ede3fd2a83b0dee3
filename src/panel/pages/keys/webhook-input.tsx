import { TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Form } from '../../ui/form/use-form.ts';

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
