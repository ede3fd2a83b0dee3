import { createContext, useContext, useEffect, useRef, useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import type { Connection } from '../../session/connection.ts';
import { useSessionSnapshot } from '../../session/session-context.tsx';
import classes from './connection-notice.module.css';

const ConnectionContext = createContext<Connection | null>(null);

export const ConnectionProvider = ConnectionContext.Provider;

/**
 * Whether the gateway is unreachable; rerenders when that changes.
 * @throws outside of `ConnectionProvider`.
 */
export function useIsUnreachable(): boolean {
  const connection = useConnection();
  return useSyncExternalStore(connection.subscribe, connection.isUnreachable);
}

function useConnection(): Connection {
  const connection = useContext(ConnectionContext);
  if (connection === null) throw new Error('The connection is used outside of ConnectionProvider');
  return connection;
}

/** A notice while the gateway is unreachable. The page stays as it is and recovers by itself. */
export function ConnectionNotice() {
  const { t, i18n } = useTranslation();
  const { checkNow, answeredAt } = useConnection();
  const isUnreachable = useIsUnreachable();
  const hasData = useSessionSnapshot().phase === 'signed_in';
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => makeRoomFor(place.current), []);
  const describe = (): string => {
    if (!navigator.onLine) return t('connection.offline');
    if (!hasData) return t('connection.away');
    const clock = new Intl.DateTimeFormat(i18n.language, { timeStyle: 'short' });
    return t('connection.awayWithData', { time: clock.format(answeredAt() * 1000) });
  };
  return (
    <div className={classes.place} role="status" ref={place}>
      {isUnreachable && (
        <div className={classes.notice}>
          <span className={classes.dot} />
          <span className={classes.text}>{describe()}</span>
          <button type="button" className={classes.retry} onClick={checkNow}>
            {t('connection.retry')}
          </button>
        </div>
      )}
    </div>
  );
}

/** The page moves down by the notice's height, which depends on the language and the width. */
function makeRoomFor(place: HTMLElement | null): (() => void) | undefined {
  if (place === null) return undefined;
  const observer = new ResizeObserver(() =>
    document.documentElement.style.setProperty('--tg-notice-height', `${place.offsetHeight}px`),
  );
  observer.observe(place);
  return () => observer.disconnect();
}
