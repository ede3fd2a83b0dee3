import { Alert, Box, Button, Stack, Text, useComputedColorScheme } from '@mantine/core';
import { IconAlertCircle } from '@tabler/icons-react';
import { type ReactNode, type Ref, useCallback, useEffect, useImperativeHandle, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { GatewayStatus } from '../../api/types.ts';
import { loadScript } from './load-script.ts';

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

/**
 * The global of Turnstile's script:
 * https://developers.cloudflare.com/turnstile/get-started/client-side-rendering/.
 */
type Turnstile = {
  render(container: HTMLElement, options: Record<string, unknown>): string | undefined;
  reset(widget: string): void;
  remove(widget: string): void;
};
declare global {
  interface Window {
    turnstile?: Turnstile;
  }
}

const scriptUrl = 'https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit';

type CaptchaHandle = {
  /** Requests another token: each is valid for one request. */
  renew(): void;
};

type TurnstileWidgetProps = {
  siteKey: string;
  /** Called with an empty token while there is none. */
  onToken(token: string): void;
  ref?: Ref<CaptchaHandle>;
};

/**
 * Cloudflare Turnstile. Its script comes from Cloudflare, so it is rendered only if the gateway
 * requires a captcha.
 */
function TurnstileWidget({ siteKey, onToken, ref }: TurnstileWidgetProps) {
  const { t } = useTranslation();
  const [attempt, setAttempt] = useState(0);
  const [hasFailed, setFailed] = useState(false);
  const widget = useRef<string | undefined>(undefined);
  const fail = useCallback(() => setFailed(true), []);

  useImperativeHandle(ref, () => ({
    renew: () => {
      onToken('');
      if (widget.current !== undefined) window.turnstile?.reset(widget.current);
    },
  }));

  if (hasFailed) {
    return (
      <Alert
        color="red"
        variant="light"
        icon={<IconAlertCircle size={20} stroke={1.6} aria-hidden="true" />}
        role="alert"
      >
        <Stack gap={12} align="flex-start">
          {t('challenge.failed')}
          <Button
            size="xs"
            variant="default"
            onClick={() => {
              setFailed(false);
              setAttempt(attempt + 1);
            }}
          >
            {t('app.retry')}
          </Button>
        </Stack>
      </Alert>
    );
  }
  return <TurnstileFrame key={attempt} siteKey={siteKey} widget={widget} onToken={onToken} onFailed={fail} />;
}

type TurnstileFrameProps = {
  siteKey: string;
  widget: { current: string | undefined };
  onToken(token: string): void;
  onFailed(): void;
};

function TurnstileFrame({ siteKey, widget, onToken, onFailed }: TurnstileFrameProps) {
  const { i18n } = useTranslation();
  const theme = useComputedColorScheme('light');
  const container = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const parent = container.current;
    if (parent === null) return;
    let isCurrent = true;
    const fail = (): void => {
      if (isCurrent) onFailed();
    };
    const show = (): void => {
      if (!isCurrent) return;
      const report = (token: string) => isCurrent && onToken(token);
      widget.current = window.turnstile?.render(parent, {
        sitekey: siteKey,
        theme,
        language: i18n.language,
        size: 'flexible',
        callback: report,
        'expired-callback': () => report(''),
        'error-callback': fail,
      });
      if (widget.current === undefined) fail();
    };
    if (window.turnstile === undefined) loadScript(document.head, scriptUrl).then(show, fail);
    else show();
    return () => {
      isCurrent = false;
      if (widget.current !== undefined) window.turnstile?.remove(widget.current);
      widget.current = undefined;
    };
  }, [siteKey, theme, i18n.language, widget, onToken, onFailed]);

  return <Box ref={container} mih={65} />;
}
