import { Button, Group, Text } from '@mantine/core';
import { IconEye, IconEyeOff } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Channel } from '../../api/types.ts';
import { useApiMutation } from '../../session/use-api.ts';
import { CopyField } from '../../ui/display/copy-field.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { Section } from '../../ui/page/section.tsx';
import { useSecurityProof } from '../../ui/security-proof/security-proof.tsx';

/** Shows the stored key to root after a Security Proof, until it is hidden or the page is left. */
export function ChannelKey({ channel }: { channel: Channel }) {
  const { t } = useTranslation();
  const prove = useSecurityProof();
  const [key, setKey] = useState<string | null>(null);
  const change = useApiMutation<string, { key: string }>({
    request: (proof) => ({
      method: 'POST',
      path: `/api/channel/${channel.id}/key`,
      ...(proof === '' ? {} : { headers: { 'x-security-proof': proof } }),
    }),
    onSuccess: (answer) => setKey(answer.key),
  });
  const show = async (): Promise<void> => {
    const proof = await prove('channel.key.read');
    if (proof !== null) change.mutate(proof);
  };
  return (
    <Section
      heading={t('channels.stored')}
      intro={t('channels.storedHelp')}
      actions={
        key === null ? (
          <Button
            variant="default"
            leftSection={<IconEye size={18} stroke={1.6} aria-hidden="true" />}
            loading={change.isPending}
            onClick={() => void show()}
          >
            {t('channels.keyShow')}
          </Button>
        ) : (
          <Button
            variant="default"
            leftSection={<IconEyeOff size={18} stroke={1.6} aria-hidden="true" />}
            onClick={() => {
              setKey(null);
              change.reset();
            }}
          >
            {t('channels.keyHide')}
          </Button>
        )
      }
    >
      {change.isError && <ErrorNotice error={change.error} />}
      {key === null ? (
        <Group gap={8}>
          <Text size="sm" c="dimmed">
            {channel.key_hint === '' ? t('channels.keyIsStored') : t('channels.keyEnds', { hint: channel.key_hint })}
          </Text>
        </Group>
      ) : (
        <CopyField text={key} />
      )}
    </Section>
  );
}
