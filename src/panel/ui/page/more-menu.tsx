import { ActionIcon, Menu } from '@mantine/core';
import { IconDots } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';

type MoreMenuProps = {
  /** One of its actions is running. */
  isPending?: boolean;
  children: ReactNode;
};

/** What is done rarely with a page's subject, such as its deletion: after the daily actions. */
export function MoreMenu({ isPending = false, children }: MoreMenuProps) {
  const { t } = useTranslation();
  return (
    <Menu width={220}>
      <Menu.Target>
        <ActionIcon variant="default" size={36} aria-label={t('app.more')} loading={isPending}>
          <IconDots size={18} stroke={1.6} aria-hidden="true" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>{children}</Menu.Dropdown>
    </Menu>
  );
}
