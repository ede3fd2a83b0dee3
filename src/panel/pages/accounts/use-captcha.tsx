import { Text } from '@mantine/core';
import { type ReactNode, useCallback, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { GatewayStatus } from '../../api/types.ts';
import { type CaptchaHandle, TurnstileWidget } from './turnstile-widget.tsx';

export type Captcha = {
  /** To be put into the form; nothing where the gateway asks for none. */
  element: ReactNode;
  /** Whether a request would be refused for the lack of it; from then on the form says so. */
  isMissing(): boolean;
  /** What a request carries, used up by it. */
  take(): { turnstile?: string };
};

/** The challenge of a form. A token is made again after each request, whatever became of it. */
export function useCaptcha(status: Pick<GatewayStatus, 'turnstile_check' | 'turnstile_site_key'>): Captcha {
  const { t } = useTranslation();
  const handle = useRef<CaptchaHandle>(null);
  const [token, setToken] = useState('');
  const [isMissed, setMissed] = useState(false);
  const receiveToken = useCallback((created: string) => {
    setToken(created);
    if (created !== '') setMissed(false);
  }, []);

  if (!status.turnstile_check) return { element: null, isMissing: () => false, take: () => ({}) };
  return {
    element: (
      <div>
        <TurnstileWidget ref={handle} siteKey={status.turnstile_site_key} onToken={receiveToken} />
        {isMissed && (
          <Text size="sm" c="var(--mantine-color-error)" mt={8} role="alert">
            {t('challenge.missing')}
          </Text>
        )}
      </div>
    ),
    isMissing: () => {
      setMissed(token === '');
      return token === '';
    },
    take: () => {
      const taken = token;
      handle.current?.renew();
      return { turnstile: taken };
    },
  };
}
