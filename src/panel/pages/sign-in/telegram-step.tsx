import { Button, Stack } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'react-router';
import { safeRedirect } from '../../session/safe-redirect.ts';
import { PageHeading } from '../../ui/page/page-heading.tsx';
import { beginTelegramLogin } from '../oauth/oauth-state-storage.ts';
import { TelegramWidget } from '../oauth/telegram-widget.tsx';

type TelegramStepProps = { botName: string; onBack(): void };

/** Sign-in with Telegram's button. */
export function TelegramStep({ botName, onBack }: TelegramStepProps) {
  const { t } = useTranslation();
  const [params] = useSearchParams();
  const [path] = useState(() => `/oauth/telegram/${beginTelegramLogin(safeRedirect(params.get('redirect')))}`);
  return (
    <>
      <PageHeading title={t('signIn.title')} heading={t('telegram.heading')} intro={t('telegram.intro')} focus />
      <Stack gap={20}>
        <TelegramWidget botName={botName} path={path} />
        <Button variant="subtle" color="gray" onClick={onBack}>
          {t('signIn.otherWay')}
        </Button>
      </Stack>
    </>
  );
}
