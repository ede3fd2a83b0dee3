import { Button, FileButton, Group, Text, TextInput } from '@mantine/core';
import { IconPaperclip } from '@tabler/icons-react';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Collapsible } from '../../ui/display/collapsible.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import classes from './attach-file.module.css';
import { isFileTooLarge, maxFileBytes } from './attached-files.ts';
import type { RequestDraft } from './use-request-draft.ts';

/** Attaches a file to a field of the request. */
export function AttachFile({ draft }: { draft: RequestDraft }) {
  const { t } = useTranslation();
  const format = useFormat();
  const [field, setField] = useState('image');
  const [error, setError] = useState<string | null>(null);
  const reset = useRef<() => void>(null);

  const attach = async (file: File | null): Promise<void> => {
    // Without a reset, choosing the same file again raises no event.
    reset.current?.();
    if (file === null) return;
    const { name, size } = file;
    const isTooLarge = isFileTooLarge(file);
    setError(
      isTooLarge
        ? t('play.file.tooLarge', { name, size: format.bytes(size), limit: format.bytes(maxFileBytes) })
        : null,
    );
    if (isTooLarge) return;
    try {
      await draft.attach(file, field.trim() || 'image');
    } catch {
      setError(t('play.file.unreadable', { name }));
    }
  };

  return (
    <Collapsible label={t('play.file')}>
      <Group align="flex-end" gap="sm" className={classes.line}>
        <TextInput
          label={t('play.file.field')}
          description={t('play.file.fieldHint')}
          spellCheck={false}
          autoCapitalize="none"
          value={field}
          onChange={({ currentTarget }) => setField(currentTarget.value)}
        />
        <FileButton
          resetRef={reset}
          onChange={(file) => void attach(file)}
          inputProps={{ 'aria-label': t('play.file.choose') }}
        >
          {(props) => (
            <Button
              {...props}
              variant="default"
              leftSection={<IconPaperclip size={17} stroke={1.6} aria-hidden="true" />}
            >
              {t('play.file.choose')}
            </Button>
          )}
        </FileButton>
      </Group>
      <Text size="sm" c="dimmed" mt={8}>
        {t('play.file.drop')}
      </Text>
      {error !== null && (
        <Text size="sm" c="var(--mantine-color-error)" mt={8} role="alert">
          {error}
        </Text>
      )}
    </Collapsible>
  );
}
