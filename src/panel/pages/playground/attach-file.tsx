import { Button, FileButton, Group, Text, TextInput } from '@mantine/core';
import { IconPaperclip } from '@tabler/icons-react';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Collapsible } from '../../ui/display/collapsible.tsx';
import classes from './attach-file.module.css';
import { useAttachFile } from './use-attach-file.ts';
import type { RequestDraft } from './use-request-draft.ts';

/** Attaches a file to a field of the request. */
export function AttachFile({ draft }: { draft: RequestDraft }) {
  const { t } = useTranslation();
  const [field, setField] = useState('image');
  const { error, attach } = useAttachFile(draft);
  const reset = useRef<() => void>(null);

  const choose = (file: File | null): void => {
    // Without a reset, choosing the same file again raises no event.
    reset.current?.();
    void attach(file, field.trim() || 'image');
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
        <FileButton resetRef={reset} onChange={choose} inputProps={{ 'aria-label': t('play.file.choose') }}>
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
