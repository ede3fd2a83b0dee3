import { iconPath } from '../../api/plugin-paths.ts';
import type { PluginSummary } from '../../api/types.ts';
import { PluginIcon } from '../../ui/display/plugin-icon.tsx';

type PluginLogoProps = { plugin: Pick<PluginSummary, 'key' | 'meta' | 'has_icon'>; size?: number };

/** The uploaded logo of a plugin, else what its manifest names. */
export const PluginLogo = ({ plugin: { key, meta, has_icon: hasIcon }, size = 36 }: PluginLogoProps) => (
  <PluginIcon name={meta?.name ?? key} icon={meta?.icon} path={hasIcon ? iconPath(key) : undefined} size={size} />
);
