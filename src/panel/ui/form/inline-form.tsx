import { Button, Group, Stack, Text } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { TextKey } from '../../i18n/texts.ts';
import { ErrorNotice } from '../display/error-notice.tsx';
import type { Form } from './use-form.ts';

type SaveFormProps = {
  form: Pick<Form<unknown>, 'submit' | 'error' | 'isPending' | 'isDirty'>;
  maxWidth?: number | 'none';
  children: ReactNode;
};

/** A form that is always open, and saves what was changed. */
export function SaveForm({ form, maxWidth = 'none', children }: SaveFormProps) {
  const { t } = useTranslation();
  return (
    <form onSubmit={form.submit} noValidate>
      <Stack gap={20} maw={maxWidth}>
        {form.error !== null && <ErrorNotice error={form.error} />}
        {children}
        <Group justify="flex-end">
          <Button type="submit" loading={form.isPending} disabled={!form.isDirty}>
            {t('app.save')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

type InlineFormProps = {
  form: Pick<Form<unknown>, 'submit' | 'error' | 'isPending'>;
  /** Label of the submit button. */
  action: string;
  /** A side effect of the action, shown above the buttons. */
  note?: string;
  onCancel(): void;
  /** Label of the cancel button if it is not "Cancel". */
  cancel?: string;
  /** Texts of this form for some API codes. */
  codeTexts?: Readonly<Record<string, TextKey>>;
  children: ReactNode;
};

/**
 * The open state of an inline form. Attach `opener` to the button that the form replaces: the
 * button gets the focus back when the form closes.
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

/** A short form that replaces the button which opened it. */
export function InlineForm({ form, action, note, onCancel, cancel, codeTexts = {}, children }: InlineFormProps) {
  const { t } = useTranslation();
  return (
    <form onSubmit={form.submit} noValidate>
      <Stack gap={16} maw={420}>
        {form.error !== null && <ErrorNotice error={form.error} codeTexts={codeTexts} />}
        {children}
        {note !== undefined && (
          <Text size="sm" c="dimmed">
            {note}
          </Text>
        )}
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
