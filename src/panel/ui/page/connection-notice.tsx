import { createContext, useContext, useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import type { Connection } from '../../session/connection.ts';
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
  const { t } = useTranslation();
  const { checkNow } = useConnection();
  const isUnreachable = useIsUnreachable();
  return (
    <div className={classes.place} role="status">
      {isUnreachable && (
        <div className={classes.notice}>
          <span className={classes.dot} />
          <span className={classes.text}>{t(navigator.onLine ? 'connection.away' : 'connection.offline')}</span>
          <button type="button" className={classes.retry} onClick={checkNow}>
            {t('connection.retry')}
          </button>
        </div>
      )}
    </div>
  );
}
