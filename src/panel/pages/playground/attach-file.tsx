import { Button, FileButton, Group, Text, TextInput } from '@mantine/core';
import { IconPaperclip } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Fold } from '../../ui/fold.tsx';
import { useFormat } from '../../ui/use-format.ts';
import classes from './attach-file.module.css';
import { fileMark, readDataUrl } from './attached-files.ts';
import type { RequestDraft } from './use-request-body.ts';

/** As a data URL a file is a third larger, and the gateway takes 16 MiB of JSON. */
const maxBytes = 11 * 1024 * 1024;

/** Puts a file into a field of the request. */
export function AttachFile({ draft }: { draft: RequestDraft }) {
  const { t } = useTranslation();
  const format = useFormat();
  const [field, setField] = useState('image');
  const [fault, setFault] = useState<string | null>(null);

  const attach = async (file: File | null): Promise<void> => {
    if (file === null) return;
    const { name, size, type } = file;
    if (size > maxBytes) {
      setFault(t('play.file.tooLarge', { name, size: format.bytes(size), limit: format.bytes(maxBytes) }));
      return;
    }
    try {
      const dataUrl = await readDataUrl(file);
      draft.attach(fileMark(name), { type: type || 'application/octet-stream', dataUrl }, field.trim() || 'image');
      setFault(null);
    } catch {
      setFault(t('play.file.unreadable'));
    }
  };

  return (
    <Fold label={t('play.file')}>
      <Group align="flex-end" gap="sm" className={classes.line}>
        <TextInput
          label={t('play.file.field')}
          description={t('play.file.fieldHint')}
          spellCheck={false}
          autoCapitalize="none"
          value={field}
          onChange={({ currentTarget }) => setField(currentTarget.value)}
        />
        <FileButton onChange={(file) => void attach(file)} inputProps={{ 'aria-label': t('play.file.choose') }}>
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
      {fault !== null && (
        <Text size="sm" c="var(--mantine-color-error)" mt={8} role="alert">
          {fault}
        </Text>
      )}
    </Fold>
  );
}
