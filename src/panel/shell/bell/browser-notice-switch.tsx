import { Switch } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { chooseBrowserNotices, useBrowserNotices } from './browser-notices.ts';

const helpTexts = {
  on: 'bell.browserHelp',
  off: 'bell.browserHelp',
  denied: 'bell.browserDenied',
  unsupported: 'bell.browserUnsupported',
} as const;

/** Turns browser notices of finished tasks on and off, for this browser. */
export function BrowserNoticeSwitch() {
  const { t } = useTranslation();
  const state = useBrowserNotices();
  return (
    <Switch
      label={t('bell.browser')}
      description={t(helpTexts[state])}
      checked={state === 'on'}
      disabled={state === 'denied' || state === 'unsupported'}
      onChange={(event) =>
        void chooseBrowserNotices(event.currentTarget.checked, {
          title: t('bell.browserExample'),
          body: t('bell.browserHelp'),
        })
      }
    />
  );
}
