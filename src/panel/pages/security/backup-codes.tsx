import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { CopyField } from '../../ui/display/copy-field.tsx';
import { downloadText } from '../../ui/display/download-text.ts';

type BackupCodesProps = { codes: readonly string[]; onDone(): void };

/** New backup codes, shown once. */
export function BackupCodes({ codes, onDone }: BackupCodesProps) {
  const { t } = useTranslation();
  const text = codes.join('\n');
  return (
    <Alert color="gate" variant="light" title={t('security.codes.once')} role="status">
      <Stack gap="md">
        <Text size="sm" lh={1.6}>
          {t('security.codes.text')}
        </Text>
        <CopyField text={text} />
        <Group gap="sm">
          <Button variant="default" onClick={() => downloadText('taskgate-backup-codes.txt', `${text}\n`)}>
            {t('security.codes.save')}
          </Button>
          <Button onClick={onDone}>{t('security.codes.kept')}</Button>
        </Group>
      </Stack>
    </Alert>
  );
}
