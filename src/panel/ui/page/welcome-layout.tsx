import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { BrandMark } from './brand-mark.tsx';
import { PageControls } from './page-controls.tsx';
import { TaskBoard } from './task-board.tsx';
import classes from './welcome-layout.module.css';

/** The layout of the pages before sign-in: the brand at the side, one form in the middle. */
export function WelcomeLayout({ children }: { children: ReactNode }) {
  const { t } = useTranslation();
  return (
    <div className={classes.frame}>
      <aside className={classes.brand}>
        <BrandMark onInk />
        <TaskBoard />
        <p className={classes.tagline}>{t('app.tagline')}</p>
      </aside>
      <div className={classes.side}>
        <header className={classes.bar}>
          <span className={classes.smallBrand}>
            <BrandMark />
          </span>
          <PageControls />
        </header>
        <main className={classes.main}>
          <div className={classes.content}>{children}</div>
        </main>
      </div>
    </div>
  );
}
