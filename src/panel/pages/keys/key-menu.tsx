import { ActionIcon, Menu } from '@mantine/core';
import { IconDots } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { type ApiKey, keyStatus } from '../../api/types.ts';
import type { KeyChanges } from './use-key-changes.ts';

type KeyMenuProps = {
  apiKey: ApiKey;
  changes: KeyChanges;
  /** Only its owner edits and rotates a key. */
  isOwn?: boolean;
};

/** What can be done to a key of a list. */
export function KeyMenu({ apiKey, changes, isOwn = false }: KeyMenuProps) {
  const { t } = useTranslation();
  const isPending = changes.isToggling || changes.isRemoving;
  return (
    // The frame of the table would cut it off.
    <Menu width={180} withinPortal>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size={34} aria-label={t('keys.actionsOf', { name: apiKey.name })}>
          <IconDots size={18} stroke={1.6} aria-hidden="true" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {isOwn && (
          <>
            <Menu.Item component={Link} to={`/keys/${apiKey.id}`}>
              {t('app.edit')}
            </Menu.Item>
            <Menu.Item component={Link} to={`/keys/${apiKey.id}/rotate`}>
              {t('keys.rotate')}
            </Menu.Item>
          </>
        )}
        <Menu.Item disabled={isPending} onClick={() => changes.toggle(apiKey)}>
          {t(apiKey.status === keyStatus.disabled ? 'keys.enable' : 'keys.disable')}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item c="var(--mantine-color-error)" disabled={isPending} onClick={() => void changes.remove(apiKey)}>
          {t('app.delete')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
