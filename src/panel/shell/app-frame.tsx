import { Burger, Drawer } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Notifications } from '@mantine/notifications';
import { type ReactNode, Suspense, useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { Outlet, useLocation } from 'react-router';
import { useIsPagePending } from '../routes/pending-parts.ts';
import { SecurityProofProvider } from '../session/security-proof.tsx';
import { ConfirmProvider } from '../ui/form/confirm-dialog.tsx';
import { UnsavedChangesOfPage } from '../ui/form/unsaved-changes.tsx';
import { BrandMark } from '../ui/page/brand-mark.tsx';
import { ErrorBoundary } from '../ui/page/error-boundary.tsx';
import { FullPageLoader } from '../ui/page/full-page.tsx';
import { PageControls } from '../ui/page/page-controls.tsx';
import { AccountMenu } from './account-menu.tsx';
import classes from './app-frame.module.css';
import { NoticeBell } from './bell/notice-bell.tsx';
import { OperatorNotice } from './operator-notice.tsx';
import { Shortcuts } from './palette/shortcuts.tsx';
import { SideNavigation } from './side-navigation.tsx';

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
              {/* Outside of what is made anew for each page, so that the former page stays until the next one is loaded. */}
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
            <PageControls />
          </div>
        </Drawer>
        <Notifications position="bottom-right" />
      </SecurityProofProvider>
    </ConfirmProvider>
  );
}
