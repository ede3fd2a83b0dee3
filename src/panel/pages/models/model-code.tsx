import { ActionIcon, Button, Modal, Skeleton, Text } from '@mantine/core';
import { IconCode } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CallableModel, ModelCard as Model } from '../../api/types.ts';
import { useGatewayStatus } from '../../session/session-context.tsx';
import { useApiQuery } from '../../session/use-api.ts';
import { CopyField } from '../../ui/display/copy-field.tsx';
import { surfaceFor } from '../playground/choose-sample.ts';
import { KeyLinks, RequestTabs } from '../playground/code-tabs.tsx';

/** What each model takes stands in its form. */
export const offersPath = '/api/model';

/** Opens the programs that call a model. `isSmall`: in a row of a list. */
export function ModelCodeButton({ card, isSmall = false }: { card: Model; isSmall?: boolean }) {
  const { t } = useTranslation();
  const [isOpen, setOpen] = useState(false);
  const { model } = card;
  const button = { 'aria-label': t('models.codeOf', { model }), onClick: () => setOpen(true) };
  const icon = <IconCode size={17} stroke={1.6} aria-hidden="true" />;
  return (
    <>
      {isSmall ? (
        <ActionIcon variant="subtle" color="gray" size={34} title={t('models.code')} {...button}>
          {icon}
        </ActionIcon>
      ) : (
        <Button variant="default" leftSection={icon} {...button}>
          {t('models.code')}
        </Button>
      )}
      <Modal
        opened={isOpen}
        onClose={() => setOpen(false)}
        size="lg"
        title={t('models.codeTitle', { model })}
        closeButtonProps={{ 'aria-label': t('app.close') }}
      >
        <ModelCode card={card} />
      </Modal>
    </>
  );
}

function ModelCode({ card: { model, plugin_key: pluginKey, sample } }: { card: Model }) {
  const { t } = useTranslation();
  const status = useGatewayStatus();
  const offers = useApiQuery<CallableModel[]>(offersPath, { enabled: pluginKey !== null });
  const origin = (status.data?.server_address || window.location.origin).replace(/\/+$/, '');
  if (pluginKey === null) {
    return (
      <>
        <Text size="sm" mb="sm">
          {t('models.relayedCode', { model })}
        </Text>
        <CopyField text={`${origin}/v1`} />
      </>
    );
  }
  const body = { model, prompt: t('keys.samplePrompt'), ...sample };
  const offer = offers.data?.find((each) => each.model === model && each.plugin_key === pluginKey);
  const { path, result } =
    offer === undefined ? { path: `/v1/tasks/${pluginKey}`, result: 'id' as const } : surfaceFor(offer, body);
  return (
    <>
      <Text size="sm" c="dimmed" mb="sm">
        <KeyLinks />
      </Text>
      {offers.isPending ? <Skeleton h={180} /> : <RequestTabs url={`${origin}${path}`} body={body} result={result} />}
    </>
  );
}
