import { Alert, Box, Button, Loader, Stack } from '@mantine/core';
import { IconAlertCircle } from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { loadScript } from '../accounts/load-script.ts';

type TelegramWidgetProps = {
  botName: string;
  /** Path on this origin to which Telegram redirects with the signed data. */
  path: string;
};

/** https://core.telegram.org/widgets/login: the script inserts a frame with Telegram's button. */
const scriptUrl = 'https://telegram.org/js/telegram-widget.js?22';

/** Telegram's login button. Its script comes from Telegram, so it is rendered only on request. */
export function TelegramWidget(props: TelegramWidgetProps) {
  const { t } = useTranslation();
  const [attempt, setAttempt] = useState(0);
  const [state, setState] = useState<'loading' | 'there' | 'failed'>('loading');
  const retry = (): void => {
    setState('loading');
    setAttempt(attempt + 1);
  };
  return (
    <Stack gap={16} align="flex-start">
      {state !== 'failed' && <WidgetFrame key={attempt} {...props} onSettled={setState} />}
      {state === 'loading' && <Loader size={22} aria-label={t('app.loading')} />}
      {state === 'failed' && (
        <Alert
          color="red"
          variant="light"
          icon={<IconAlertCircle size={20} stroke={1.6} aria-hidden="true" />}
          role="alert"
        >
          <Stack gap={12} align="flex-start">
            {t('telegram.unreachable')}
            <Button size="xs" variant="default" onClick={retry}>
              {t('app.retry')}
            </Button>
          </Stack>
        </Alert>
      )}
    </Stack>
  );
}

type WidgetFrameProps = TelegramWidgetProps & { onSettled(state: 'there' | 'failed'): void };

function WidgetFrame({ botName, path, onSettled }: WidgetFrameProps) {
  const { i18n } = useTranslation();
  const container = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const parent = container.current;
    if (parent === null) return;
    let isCurrent = true;
    const settle = (state: 'there' | 'failed') => () => {
      if (isCurrent) onSettled(state);
    };
    loadScript(parent, scriptUrl, {
      'data-telegram-login': botName,
      'data-size': 'large',
      'data-lang': i18n.language,
      'data-auth-url': `${window.location.origin}${path}`,
    }).then(settle('there'), settle('failed'));
    return () => {
      isCurrent = false;
      parent.replaceChildren();
    };
  }, [botName, path, i18n.language, onSettled]);
  return <Box ref={container} mih={40} />;
}
