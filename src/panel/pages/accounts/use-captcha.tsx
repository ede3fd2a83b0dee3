import { Text } from '@mantine/core';
import { type ReactNode, useCallback, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { GatewayStatus } from '../../api/types.ts';
import { Challenge, type ChallengeHandle } from './turnstile-widget.tsx';

export type ChallengeUse = {
  /** To be put into the form; nothing where the gateway asks for none. */
  element: ReactNode;
  /** Whether a request would be refused for the lack of it; from then on the form says so. */
  isMissing(): boolean;
  /** What a request carries, used up by it. */
  take(): { turnstile?: string };
};

/** The challenge of a form. A token is made again after each request, whatever became of it. */
export function useChallenge(status: Pick<GatewayStatus, 'turnstile_check' | 'turnstile_site_key'>): ChallengeUse {
  const { t } = useTranslation();
  const handle = useRef<ChallengeHandle>(null);
  const [token, setToken] = useState('');
  const [isMissed, setMissed] = useState(false);
  const hear = useCallback((made: string) => {
    setToken(made);
    if (made !== '') setMissed(false);
  }, []);

  if (!status.turnstile_check) return { element: null, isMissing: () => false, take: () => ({}) };
  return {
    element: (
      <div>
        <Challenge ref={handle} siteKey={status.turnstile_site_key} onToken={hear} />
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
