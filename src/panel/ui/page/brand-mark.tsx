import { useGatewayName, useGatewayStatus } from '../../session/session-context.tsx';
import classes from './brand-mark.module.css';

/** The logo and the name. `onInk` is for the dark brand surface in both colour schemes. */
export function BrandMark({ onInk = false }: { onInk?: boolean }) {
  const name = useGatewayName();
  const logo = useGatewayStatus().data?.logo ?? '';
  return (
    <span className={classes.mark} data-on-ink={onInk || undefined}>
      {logo !== '' ? (
        <img src={logo} alt="" width={26} height={26} />
      ) : (
        <svg viewBox="0 0 20 20" width="24" height="24" aria-hidden="true">
          <path d="M3.5 2.5v15M16.5 2.5v15" stroke="currentColor" strokeWidth="2.6" strokeLinecap="round" />
          <circle cx="10" cy="10" r="2.9" className={classes.task} />
        </svg>
      )}
      <span className={classes.name}>{name}</span>
    </span>
  );
}
