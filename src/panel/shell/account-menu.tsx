import { Avatar, Menu, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { IconBell, IconCoin, IconLogout, IconShieldLock, IconUser } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { User } from '../api/types.ts';
import { roleTextKey } from '../session/roles.ts';
import { useSession, useSessionSnapshot } from '../session/session-context.tsx';
import { useApiQuery } from '../session/use-api.ts';
import { useFormat } from '../ui/display/use-format.ts';
import classes from './account-menu.module.css';

/** The signed-in user, and sign-out. */
export function AccountMenu() {
  const { t } = useTranslation();
  const session = useSession();
  const { bundle } = useSessionSnapshot();
  const signOut = useMutation({ mutationFn: () => session.signOut() });
  if (bundle === null) return null;
  const name = bundle.user.display_name || bundle.user.username;
  return (
    <Menu width={240} closeOnItemClick>
      <Menu.Target>
        <UnstyledButton className={classes.button}>
          <Avatar size={30} radius="xl" color="gate" name={name} aria-hidden="true">
            {[...name][0]?.toUpperCase()}
          </Avatar>
          <span className={classes.name} aria-hidden="true">
            {name}
          </span>
          <VisuallyHidden>{t('nav.accountMenu', { name })}</VisuallyHidden>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Who known={bundle.user} />
        {signOut.isError && (
          <p className={classes.failed} role="alert">
            {t('home.signOutFailed')}
          </p>
        )}
        <BalanceItem />
        <Menu.Item component={Link} to="/profile" leftSection={<IconUser size={17} stroke={1.6} />}>
          {t('nav.profile')}
        </Menu.Item>
        <Menu.Item component={Link} to="/notifications" leftSection={<IconBell size={17} stroke={1.6} />}>
          {t('nav.notifications')}
        </Menu.Item>
        <Menu.Item component={Link} to="/security" leftSection={<IconShieldLock size={17} stroke={1.6} />}>
          {t('nav.security')}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item
          closeMenuOnClick={false}
          disabled={signOut.isPending}
          leftSection={<IconLogout size={17} stroke={1.6} />}
          onClick={() => signOut.mutate()}
        >
          {t('home.signOut')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** Name, address and role. What the sign-in said is shown until it is read again. */
function Who({ known }: { known: Pick<User, 'username' | 'display_name' | 'email' | 'role'> }) {
  const { t } = useTranslation();
  const { username, display_name: name, email, role } = useApiQuery<User>('/api/user/self').data ?? known;
  const others = [name === '' || name === username ? '' : username, email ?? ''].filter((text) => text !== '');
  return (
    <Menu.Label className={classes.who}>
      <strong>{name || username}</strong>
      <span>{t(roleTextKey(role))}</span>
      {others.map((text) => (
        <span key={text} className={classes.other}>
          {text}
        </span>
      ))}
    </Menu.Label>
  );
}

/** Read when the menu opens. */
function BalanceItem() {
  const { t } = useTranslation();
  const format = useFormat();
  const { data: user } = useApiQuery<User>('/api/user/self');
  return (
    <Menu.Item
      component={Link}
      to="/usage"
      leftSection={<IconCoin size={17} stroke={1.6} />}
      rightSection={user && format.money(user.quota)}
    >
      {t('home.balance')}
    </Menu.Item>
  );
}
