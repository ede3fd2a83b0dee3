import { Text } from '@mantine/core';
import { type ReactNode, useCallback, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { GatewayStatus } from '../../api/types.ts';
import { type CaptchaHandle, TurnstileWidget } from './turnstile-widget.tsx';

export type Captcha = {
  /** To place in the form; null if the gateway requires no captcha. */
  element: ReactNode;
  /** True if there is no token yet; from then on the form says so. */
  isMissing(): boolean;
  /** The fields for a request. Consumes the token. */
  take(): { turnstile?: string };
};

/** The captcha of a form. Each request consumes its token, so a new one is requested at once. */
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
