import {
  IconBrandDiscord,
  IconBrandGithub,
  IconBrandTelegram,
  IconBrandWechat,
  IconLogin2,
  type TablerIcon,
} from '@tabler/icons-react';

const icons: Readonly<Record<string, TablerIcon>> = {
  github: IconBrandGithub,
  discord: IconBrandDiscord,
  telegram: IconBrandTelegram,
  wechat: IconBrandWechat,
};

/** The mark of a service that people sign in with. */
export function ProviderIcon({ slug, size, opacity = 1 }: { slug: string; size: number; opacity?: number }) {
  const Icon = icons[slug] ?? IconLogin2;
  return <Icon size={size} stroke={1.6} opacity={opacity} aria-hidden="true" />;
}
