import { Button, Group, Stack } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { TextKey } from '../../i18n/texts.ts';
import { ErrorNotice } from '../display/error-notice.tsx';
import type { Form } from './use-form.ts';

type InlineFormProps = {
  form: Pick<Form<unknown>, 'submit' | 'error' | 'isPending'>;
  /** What sending it does. */
  action: string;
  onCancel(): void;
  /** The way back, where it is not to cancel. */
  cancel?: string;
  /** What codes of the API mean here, where it is not what they mean elsewhere. */
  codeTexts?: Readonly<Record<string, TextKey>>;
  children: ReactNode;
};

/**
 * Whether an inline form is open. `opener` belongs to the button that opens it and whose place it
 * takes: when the form has closed and the focus with it, the button has it again.
 */
export function useInlineForm() {
  const [isOpen, setOpen] = useState(false);
  const wasOpen = useRef(false);
  const opener = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (wasOpen.current && !isOpen && document.activeElement === document.body) opener.current?.focus();
    wasOpen.current = isOpen;
  }, [isOpen]);
  return { isOpen, open: () => setOpen(true), close: () => setOpen(false), opener };
}

/** A short form that takes the place of the button which opened it. */
export function InlineForm({ form, action, onCancel, cancel, codeTexts = {}, children }: InlineFormProps) {
  const { t } = useTranslation();
  return (
    <form onSubmit={form.submit} noValidate>
      <Stack gap={16} maw={420}>
        {form.error !== null && <ErrorNotice error={form.error} codeTexts={codeTexts} />}
        {children}
        <Group>
          <Button type="submit" loading={form.isPending}>
            {action}
          </Button>
          <Button variant="default" onClick={onCancel} disabled={form.isPending}>
            {cancel ?? t('app.cancel')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
