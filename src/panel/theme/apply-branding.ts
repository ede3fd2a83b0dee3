import { accentShades } from './accent-shades.ts';

/** The icon of the page as it came, until the operator's takes its place. */
let builtInIcon: string | undefined;

/** Shows the operator's colour and icon; empty: the built-in ones. */
export function applyBranding({ accent, logo }: { accent: string; logo: string }): void {
  const { style } = document.documentElement;
  const shades = accent === '' ? [] : accentShades(accent);
  for (let index = 0; index < 10; index += 1) setProperty(style, `--mantine-color-gate-${index}`, shades[index]);
  // These depend on the scheme, and mixing lets them follow it.
  const tint = (share: number) => shades[5] && `color-mix(in srgb, ${shades[5]} ${share}%, var(--mantine-color-body))`;
  setProperty(style, '--mantine-color-gate-light', tint(14));
  setProperty(style, '--mantine-color-gate-light-hover', tint(20));
  setProperty(style, '--mantine-color-gate-light-color', shades[5] && 'var(--mantine-color-text)');
  setProperty(style, '--tg-chosen', tint(14));
  setProperty(style, '--tg-signal', shades[4]);
  const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (icon === null) return;
  builtInIcon ??= icon.href;
  icon.type = logo === '' ? 'image/svg+xml' : 'image/png';
  icon.href = logo === '' ? builtInIcon : logo;
}

function setProperty(style: CSSStyleDeclaration, name: string, value: string | undefined): void {
  if (value === undefined) style.removeProperty(name);
  else style.setProperty(name, value);
}
