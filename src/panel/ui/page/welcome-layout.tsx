import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { TextKey } from '../../i18n/texts.ts';
import { BrandMark } from './brand-mark.tsx';
import { PageControls } from './page-controls.tsx';
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

/** Greets below the heading. Narrow screens, which hide the brand's side, show its tagline. */
export function WelcomeIntro({ name }: { name: string }) {
  const { t } = useTranslation();
  return (
    <>
      <span className={classes.greeting}>{t('signIn.intro', { name })}</span>
      <span className={classes.shortTagline}>{t('app.tagline')}</span>
    </>
  );
}

type Row = { id: string; model: string; state: 'queued' | 'running' | 'delivered' };

const rows: readonly Row[] = [
  { id: '7f3c', model: 'video', state: 'delivered' },
  { id: '91ab', model: 'music', state: 'running' },
  { id: 'c02e', model: 'image', state: 'delivered' },
  { id: '5d88', model: 'video', state: 'queued' },
  { id: 'e1f4', model: 'music', state: 'running' },
];

const stateTexts = {
  queued: 'board.queued',
  running: 'board.running',
  delivered: 'board.delivered',
} as const satisfies Record<Row['state'], TextKey>;

/** An illustration of the gateway: tasks of a vendor wait, run, and arrive on the owner's side. */
function TaskBoard() {
  const { t } = useTranslation();
  return (
    <div className={classes.board} role="img" aria-label={t('board.title')}>
      <div className={classes.sides} aria-hidden="true">
        <span>{t('board.vendor')}</span>
        <span>{t('board.yours')}</span>
      </div>
      <div className={classes.rows} aria-hidden="true">
        {rows.map((row) => (
          <div key={row.id} className={classes.row} data-state={row.state}>
            <span className={classes.name}>
              {row.model}
              <span className={classes.id}>_{row.id}</span>
            </span>
            <span className={classes.track}>
              <span className={classes.trail} />
              <span className={classes.task} />
            </span>
            <span className={classes.state}>{t(stateTexts[row.state])}</span>
          </div>
        ))}
        <span className={classes.gate} />
      </div>
    </div>
  );
}
