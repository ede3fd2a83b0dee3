import { Alert, Box, Button, Loader, Stack } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { IconAlert } from '../../ui/icons.tsx';
import { loadScript } from './load-script.ts';

type TelegramWidgetProps = {
  botName: string;
  /** Of this origin: where Telegram leads the browser to with what it has signed. */
  path: string;
};

/**
 * https://core.telegram.org/widgets/login: the script puts a frame with Telegram's button in its
 * own place.
 */
const source = 'https://telegram.org/js/telegram-widget.js?22';

/** Telegram's own button. It comes from Telegram, so it is shown only to who has asked for it. */
export function TelegramWidget(props: TelegramWidgetProps) {
  const { t } = useTranslation();
  const [round, setRound] = useState(0);
  const [state, setState] = useState<'loading' | 'there' | 'failed'>('loading');
  const again = (): void => {
    setState('loading');
    setRound(round + 1);
  };
  return (
    <Stack gap={16} align="flex-start">
      {state !== 'failed' && <Place key={round} {...props} onSettled={setState} />}
      {state === 'loading' && <Loader size={22} aria-label={t('app.loading')} />}
      {state === 'failed' && (
        <Alert color="red" variant="light" icon={<IconAlert />} role="alert">
          <Stack gap={12} align="flex-start">
            {t('telegram.unreachable')}
            <Button size="xs" variant="default" onClick={again}>
              {t('app.retry')}
            </Button>
          </Stack>
        </Alert>
      )}
    </Stack>
  );
}

type PlaceProps = TelegramWidgetProps & { onSettled(state: 'there' | 'failed'): void };

function Place({ botName, path, onSettled }: PlaceProps) {
  const { i18n } = useTranslation();
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const parent = place.current;
    if (parent === null) return;
    let isCurrent = true;
    const settle = (state: 'there' | 'failed') => () => {
      if (isCurrent) onSettled(state);
    };
    loadScript(parent, source, {
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
  return <Box ref={place} mih={40} />;
}
