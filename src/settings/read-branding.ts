import { sha256Hex } from '../kernel/index.ts';
import { decodePng } from './catalogue/logo-image.ts';
import type { OptionValues } from './read-options.ts';
import type { PublicSettings } from './types.ts';

/** How the panel looks, and what it tells everybody. The path of the logo changes with it. */
export function readBranding(
  options: OptionValues,
): Pick<PublicSettings, 'logo' | 'accent' | 'notice' | 'balance_hint'> {
  const logo = options.text('branding.logo');
  return {
    logo: logo === '' ? '' : `/api/branding/logo?v=${sha256Hex(logo).slice(0, 12)}`,
    accent: options.text('branding.accent'),
    notice: options.text('branding.notice'),
    balance_hint: options.text('branding.balance_hint'),
  };
}

/** The logo's bytes; `undefined`: there is none. */
export function readLogo(options: OptionValues): { bytes: Uint8Array; mimeType: string } | undefined {
  const bytes = decodePng(options.text('branding.logo'));
  return bytes && { bytes, mimeType: 'image/png' };
}
