import { Switch } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';

const choiceKey = 'taskgate.browserNotices';

/**
 * `off`: not chosen, or the browser was not asked. `denied`: the browser refuses. `unsupported`:
 * this browser shows none to pages, as on most phones.
 */
type BrowserNotices = 'on' | 'off' | 'denied' | 'unsupported';

const listeners = new Set<() => void>();
/** The choice of this page where storage is blocked. */
let unstored: string | undefined;
/** The browser allowed notices, and showed none. */
let isRefused = false;

export function readBrowserNotices(): BrowserNotices {
  if (!('Notification' in globalThis) || isRefused) return 'unsupported';
  if (Notification.permission === 'denied') return 'denied';
  return Notification.permission === 'granted' && readChoice() === 'on' ? 'on' : 'off';
}

/** Follows the choice, also of other tabs, and a permission that is changed outside of the page. */
export const useBrowserNotices = (): BrowserNotices => useSyncExternalStore(subscribe, readBrowserNotices);

/**
 * Asks the browser for its permission; call it in a click only: a question out of nowhere is
 * refused, for good. The first notice shows that they arrive.
 */
async function chooseBrowserNotices(isWanted: boolean, example: { title: string; body: string }): Promise<void> {
  const permission = isWanted ? await Notification.requestPermission() : Notification.permission;
  const isOn = isWanted && permission === 'granted';
  storeChoice(isOn ? 'on' : 'off');
  if (isOn) showBrowserNotice({ ...example, tag: 'taskgate.example' });
  announce();
}

/** A click brings the panel back and opens `path`. A later notice with the same tag replaces it. */
export function showBrowserNotice(notice: { title: string; body: string; tag: string; path?: string }): void {
  const { title, body, tag, path } = notice;
  try {
    const shown = new Notification(title, { body, tag });
    shown.onclick = () => {
      window.focus();
      shown.close();
      if (path !== undefined) location.assign(path);
    };
    // The system refuses although the browser allows it.
    shown.onerror = refuse;
  } catch {
    // Browsers of phones show notices of service workers only.
    refuse();
  }
}

function refuse(): void {
  isRefused = true;
  announce();
}

/** Whether the user looks at the page `path`, or works in any page of this tab. */
export const isLookedAt = (path: string): boolean =>
  document.visibilityState === 'visible' && (document.hasFocus() || location.pathname === path);

function announce(): void {
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener('storage', listener);
  // A permission is changed in the browser's own pages, and seen when the user comes back.
  window.addEventListener('focus', listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('storage', listener);
    window.removeEventListener('focus', listener);
  };
}

function readChoice(): string | null {
  try {
    return unstored ?? localStorage.getItem(choiceKey);
  } catch {
    return unstored ?? null;
  }
}

function storeChoice(choice: 'on' | 'off'): void {
  try {
    localStorage.setItem(choiceKey, choice);
    unstored = undefined;
  } catch {
    unstored = choice;
  }
}

const helpTexts = {
  on: 'bell.browserHelp',
  off: 'bell.browserHelp',
  denied: 'bell.browserDenied',
  unsupported: 'bell.browserUnsupported',
} as const;

/** Where browser notices show, or why they do not. */
export function useBrowserNoticeHelp(): string {
  const { t } = useTranslation();
  return t(helpTexts[useBrowserNotices()]);
}

/** Turns browser notices of finished tasks on and off, here alone. `isBare`: without words. */
export function BrowserNoticeSwitch({ isBare = false }: { isBare?: boolean }) {
  const { t } = useTranslation();
  const state = useBrowserNotices();
  const help = useBrowserNoticeHelp();
  return (
    <Switch
      {...(isBare ? { 'aria-label': t('bell.browser') } : { label: t('bell.browser'), description: help })}
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
