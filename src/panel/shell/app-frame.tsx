import { Burger, Drawer } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Notifications } from '@mantine/notifications';
import { type ReactNode, Suspense, useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { NavLink, Outlet, useLocation } from 'react-router';
import { useRole } from '../session/roles.ts';
import { ConfirmProvider } from '../ui/form/confirm-dialog.tsx';
import { UnsavedChangesOfPage } from '../ui/form/unsaved-changes.tsx';
import { BrandMark } from '../ui/page/brand-mark.tsx';
import { ErrorBoundary, FullPageLoader } from '../ui/page/full-page.tsx';
import { PageControls } from '../ui/page/page-controls.tsx';
import { SecurityProofProvider } from '../ui/security-proof/security-proof.tsx';
import { AccountMenu } from './account-menu.tsx';
import classes from './app-frame.module.css';
import { NoticeBell } from './bell/notice-bell.tsx';
import { sections } from './navigation-sections.ts';
import { OperatorNotice } from './operator-notice.tsx';
import { Shortcuts } from './palette/shortcuts.tsx';
import { useIsPagePending } from './pending-parts.ts';

/** The former page stays until the next one is there; on a slow line that must not look dead. */
function PagePending() {
  const { t } = useTranslation();
  return useIsPagePending() && <div className={classes.pending} role="progressbar" aria-label={t('app.loading')} />;
}

/** The frame of all pages after sign-in: navigation at the side, account menu at the top. */
export function AppFrame({ children = <Outlet /> }: { children?: ReactNode }) {
  const { t } = useTranslation();
  const { pathname } = useLocation();
  const [isOpen, { toggle, close }] = useDisclosure(false);
  useEffect(close, [pathname]);
  return (
    <ConfirmProvider>
      <SecurityProofProvider>
        <a className={classes.skip} href="#content">
          {t('nav.skip')}
        </a>
        <div className={classes.frame}>
          <aside className={classes.side}>
            <div className={classes.sticky}>
              <div className={classes.brand}>
                <BrandMark />
              </div>
              <SideNavigation />
            </div>
          </aside>
          <div className={classes.body}>
            <header className={classes.bar}>
              <PagePending />
              <div className={classes.small}>
                <Burger opened={isOpen} onClick={toggle} size="sm" aria-label={t('nav.open')} aria-expanded={isOpen} />
                <BrandMark />
              </div>
              <div className={classes.controls}>
                <Shortcuts />
                <NoticeBell />
                <div className={classes.wide}>
                  <PageControls />
                </div>
                <AccountMenu />
              </div>
            </header>
            <main id="content" tabIndex={-1} className={classes.content}>
              {/* Outside of what is recreated for each page, so that the former page stays until the next one is loaded. */}
              <Suspense fallback={<FullPageLoader within />}>
                <OperatorNotice />
                <ErrorBoundary key={pathname} within>
                  <UnsavedChangesOfPage>{children}</UnsavedChangesOfPage>
                </ErrorBoundary>
              </Suspense>
            </main>
          </div>
        </div>
        <Drawer
          opened={isOpen}
          onClose={close}
          size={280}
          title={<BrandMark />}
          closeButtonProps={{ 'aria-label': t('app.close') }}
        >
          <SideNavigation />
          <div className={classes.drawerControls}>
            <PageControls isNamed />
          </div>
        </Drawer>
        <Notifications position="bottom-right" />
      </SecurityProofProvider>
    </ConfirmProvider>
  );
}

export function SideNavigation() {
  const { t } = useTranslation();
  const { pathname } = useLocation();
  // A case file belongs to the list of its kind: /case/task to /tasks.
  const caseList = pathname.replace(/^\/case\/(\w+)\/.*/, '/$1s');
  const role = useRole();
  const offered = sections
    .map(({ text, entries }) => ({ text, entries: entries.filter((entry) => role >= entry.role) }))
    .filter(({ entries }) => entries.length > 0);
  return (
    <nav aria-label={t('nav.label')} className={classes.nav}>
      {offered.map(({ text, entries }) => (
        <div key={entries[0]?.path}>
          {text !== null && <p className={classes.heading}>{t(text)}</p>}
          <ul className={classes.list}>
            {entries.map(({ path, text: label, icon: Icon }) => (
              <li key={path}>
                <NavLink
                  to={path}
                  end={path === '/'}
                  className={classes.link}
                  data-current={path === caseList || undefined}
                >
                  <Icon size={19} stroke={1.6} aria-hidden="true" />
                  {t(label)}
                </NavLink>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}
