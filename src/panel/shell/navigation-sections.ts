import {
  IconAdjustments,
  IconBell,
  IconBook2,
  IconBoxModel2,
  IconBuildingStore,
  IconChartBar,
  IconClipboardList,
  IconCoin,
  IconFlask,
  IconHome,
  IconHourglass,
  IconKey,
  IconListDetails,
  IconPlug,
  IconRoute,
  IconServer,
  IconShieldLock,
  IconUser,
  IconUsers,
  type TablerIcon,
} from '@tabler/icons-react';
import type { TextKey } from '../i18n/texts.ts';
import { roles } from '../session/roles.ts';

type SectionEntry = { path: string; text: TextKey; icon: TablerIcon; role: number };

/** The navigation in its order. Entries above the user's role are hidden. */
export const sections: readonly { text: TextKey | null; entries: readonly SectionEntry[] }[] = [
  {
    text: null,
    entries: [
      { path: '/', text: 'nav.home', icon: IconHome, role: roles.user },
      { path: '/tasks', text: 'nav.tasks', icon: IconListDetails, role: roles.user },
      { path: '/queue', text: 'nav.queue', icon: IconHourglass, role: roles.user },
      { path: '/models', text: 'nav.models', icon: IconBoxModel2, role: roles.user },
      { path: '/playground', text: 'nav.playground', icon: IconFlask, role: roles.user },
      { path: '/keys', text: 'nav.keys', icon: IconKey, role: roles.user },
      { path: '/reference', text: 'nav.reference', icon: IconBook2, role: roles.user },
      { path: '/usage', text: 'nav.usage', icon: IconChartBar, role: roles.user },
    ],
  },
  {
    text: 'nav.account',
    entries: [
      { path: '/profile', text: 'nav.profile', icon: IconUser, role: roles.user },
      { path: '/notifications', text: 'nav.notifications', icon: IconBell, role: roles.user },
      { path: '/security', text: 'nav.security', icon: IconShieldLock, role: roles.user },
    ],
  },
  {
    text: 'nav.gateway',
    entries: [
      { path: '/channels', text: 'nav.channels', icon: IconRoute, role: roles.admin },
      { path: '/plugins', text: 'nav.plugins', icon: IconPlug, role: roles.root },
      { path: '/marketplace', text: 'nav.marketplace', icon: IconBuildingStore, role: roles.root },
      { path: '/prices', text: 'nav.prices', icon: IconCoin, role: roles.root },
      { path: '/users', text: 'nav.users', icon: IconUsers, role: roles.admin },
    ],
  },
  {
    text: 'nav.operation',
    entries: [
      { path: '/settings', text: 'nav.settings', icon: IconAdjustments, role: roles.root },
      { path: '/audit', text: 'nav.audit', icon: IconClipboardList, role: roles.root },
      { path: '/system', text: 'nav.system', icon: IconServer, role: roles.root },
    ],
  },
];
