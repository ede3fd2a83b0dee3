import { MEMBER } from '../fill-gateway.ts';
import { ROOT } from '../gateway.ts';
import { dialogOpens, inOrder, type PanelState, press, type Scene } from './state.ts';

const signIn =
  (username: string, password: string) =>
  async ({ page }: Scene) => {
    await page.locator('input[autocomplete^="username"]').fill(username);
    await page.locator('input[type="password"]').fill(password);
    await page.locator('form button[type="submit"]').click();
  };

/** Pages before sign-in, and those of the own account. */
export const accountStates: readonly PanelState[] = [
  { name: 'set-up', path: '/setup', age: 'new', viewer: 'nobody' },
  { name: 'sign-in', path: '/sign-in', age: 'empty', viewer: 'nobody' },
  { name: 'sign-in-methods', path: '/sign-in', viewer: 'nobody' },
  {
    name: 'sign-in-refused',
    path: '/sign-in',
    viewer: 'nobody',
    act: inOrder(signIn(ROOT.username, 'wrong'), ({ page }) => page.getByRole('alert').first().waitFor()),
  },
  {
    name: 'sign-in-code',
    path: '/sign-in',
    viewer: 'nobody',
    act: inOrder(signIn(MEMBER, ROOT.password), ({ page }) =>
      page.locator('input[autocomplete="one-time-code"]').waitFor(),
    ),
  },
  { name: 'sign-up', path: '/sign-up', viewer: 'nobody' },
  { name: 'sign-up-closed', path: '/sign-up', age: 'empty', viewer: 'nobody' },
  { name: 'forgot-password', path: '/forgot-password', viewer: 'nobody' },
  { name: 'new-password', path: '/user/reset?email=mira@example.org&token=abcdef', viewer: 'nobody' },
  { name: 'new-password-no-link', path: '/user/reset', viewer: 'nobody' },
  { name: 'user-agreement', path: '/user-agreement', viewer: 'nobody' },
  { name: 'privacy-policy', path: '/privacy-policy', viewer: 'nobody' },
  { name: 'oauth-refused', path: '/oauth/github?code=x&state=y', viewer: 'nobody' },
  { name: 'telegram-refused', path: '/oauth/telegram', viewer: 'nobody' },
  { name: 'telegram-login-refused', path: '/oauth/telegram/x', viewer: 'nobody' },
  { name: 'missing-signed-out', path: '/no-such-page', viewer: 'nobody' },

  { name: 'profile', path: '/profile' },
  { name: 'profile-of-user', path: '/profile', viewer: 'member' },
  { name: 'notifications', path: '/notifications' },
  { name: 'notifications-of-user', path: '/notifications', viewer: 'member' },
  {
    name: 'notifications-amount',
    path: '/notifications',
    viewer: 'member',
    act: inOrder(async ({ page, text }) => {
      const name = `${text('security.twoFactor.setUp')}: ${text('notifications.balance')}, ${text('keys.webhook')}`;
      await page.getByRole('button', { name, exact: true }).click();
    }, dialogOpens),
  },
  { name: 'security', path: '/security' },
  { name: 'security-of-user', path: '/security', viewer: 'member' },
  {
    name: 'security-codes',
    path: '/security',
    viewer: 'member',
    act: inOrder(press('security.codes.renew'), dialogOpens),
  },
  {
    name: 'security-set-up',
    path: '/security',
    act: inOrder(press('security.twoFactor.setUp'), ({ page }) => page.locator('main ol svg').first().waitFor()),
  },
  { name: 'security-password', path: '/security', act: press('security.password.change') },
  { name: 'missing', path: '/no-such-page' },
  { name: 'not-for-users', path: '/users', viewer: 'member' },
];
