import type { ReactNode } from 'react';
import { BrandMark } from './brand-mark.tsx';
import { PageControls } from './page-controls.tsx';
import classes from './public-frame.module.css';

type PublicFrameProps = {
  /** Such as a link to the sign-in. */
  actions?: ReactNode;
  children: ReactNode;
};

/** Around pages that are read without a session. */
export function PublicFrame({ actions, children }: PublicFrameProps) {
  return (
    <div className={classes.frame}>
      <header className={classes.bar}>
        <BrandMark />
        <div className={classes.controls}>
          {actions}
          <PageControls />
        </div>
      </header>
      <main>{children}</main>
    </div>
  );
}
