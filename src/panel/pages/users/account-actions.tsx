import { Button, Group, Menu, Text } from '@mantine/core';
import {
  IconArrowDown,
  IconArrowUp,
  IconBan,
  IconClipboardList,
  IconFileDescription,
  IconTrash,
} from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { type Account, accountStatus } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useApiMutation } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { useFormat } from '../../ui/display/use-format.ts';
import { type Question, useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { MoreMenu } from '../../ui/page/more-menu.tsx';
import type { Rights } from './account-rules.tsx';

type Action = 'enable' | 'disable' | 'promote' | 'demote' | 'delete';

const doneTexts: Record<Action, TextKey> = {
  enable: 'users.enable.done',
  disable: 'users.disable.done',
  promote: 'users.promote.done',
  demote: 'users.demote.done',
  delete: 'users.delete.done',
};
const texts: Record<Action, { title: TextKey; text: TextKey; action: TextKey }> = {
  enable: { title: 'users.enable.title', text: 'users.enable.text', action: 'users.enable' },
  disable: { title: 'users.disable.title', text: 'users.disable.text', action: 'users.disable' },
  promote: { title: 'users.promote.title', text: 'users.promote.text', action: 'users.promote' },
  demote: { title: 'users.demote.title', text: 'users.demote.text', action: 'users.demote' },
  delete: { title: 'users.delete.title', text: 'users.delete.text', action: 'users.delete' },
};

/**
 * Enables, disables, promotes, demotes or deletes an account. Only what the operator's role allows
 * is offered.
 */
export function AccountActions({ account, rights }: { account: Account; rights: Rights }) {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const format = useFormat();
  const isRoot = useRole() >= roles.root;
  const change = useApiMutation<Action>({
    request: (action) => ({ method: 'POST', path: '/api/user/manage', body: { id: account.id, action } }),
    invalidates: ['/api/user'],
    onSuccess: (_, action) => notifySuccess(t(doneTexts[action], { name: account.username })),
  });
  const ask = async (action: Action): Promise<void> => {
    const { title, text, action: verb } = texts[action];
    const question: Question = {
      title: t(title, { name: account.username }),
      text:
        action === 'delete' && account.quota > 0 ? (
          <>
            <Text fw={600} inherit mb="xs">
              {t('confirm.balanceLost', { sum: format.money(account.quota) })}
            </Text>
            {t(text, { name: account.username })}
          </>
        ) : (
          t(text, { name: account.username })
        ),
      action: t(verb),
      destructive: action !== 'enable' && action !== 'promote',
      ...(action === 'delete' ? { typed: account.username } : {}),
    };
    if (await confirm(question)) change.mutate(action);
  };
  const roleChange: Action | null = rights.promote ? 'promote' : rights.demote ? 'demote' : null;
  const isEnabled = account.status === accountStatus.enabled;
  const icon = { size: 18, stroke: 1.6, 'aria-hidden': true } as const;
  return (
    <div>
      <Group gap="sm" justify="flex-end">
        <Button
          component={Link}
          to={`/case/user/${account.id}`}
          variant="default"
          leftSection={<IconFileDescription {...icon} />}
        >
          {t('case.open')}
        </Button>
        {rights.switch && !isEnabled && (
          <Button variant="default" loading={change.isPending} onClick={() => void ask('enable')}>
            {t('users.enable')}
          </Button>
        )}
        {(rights.switch || isRoot) && (
          <MoreMenu isPending={change.isPending}>
            {roleChange !== null && (
              <Menu.Item
                leftSection={roleChange === 'promote' ? <IconArrowUp {...icon} /> : <IconArrowDown {...icon} />}
                onClick={() => void ask(roleChange)}
              >
                {t(texts[roleChange].action)}
              </Menu.Item>
            )}
            {isRoot && (
              <Menu.Item
                component={Link}
                to={`/audit?target=user:${account.id}`}
                leftSection={<IconClipboardList {...icon} />}
              >
                {t('nav.audit')}
              </Menu.Item>
            )}
            {rights.switch && isEnabled && (
              <Menu.Item leftSection={<IconBan {...icon} />} onClick={() => void ask('disable')}>
                {t('users.disable')}
              </Menu.Item>
            )}
            {rights.delete && (
              <Menu.Item
                c="var(--mantine-color-error)"
                leftSection={<IconTrash {...icon} />}
                onClick={() => void ask('delete')}
              >
                {t('users.delete')}
              </Menu.Item>
            )}
          </MoreMenu>
        )}
      </Group>
      {change.isError && <ErrorNotice error={change.error} />}
    </div>
  );
}
