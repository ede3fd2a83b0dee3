import {
  Button,
  createTheme,
  DrawerHeader,
  defaultVariantColorsResolver,
  type MantineColorsTuple,
  ModalHeader,
  Switch,
  type VariantColorsResolver,
} from '@mantine/core';

/** The brand's green. Step 7 has 5.4:1 contrast with white text, step 4 has 9:1 with dark text. */
const gate: MantineColorsTuple = [
  '#e8f8f0',
  '#cfeedf',
  '#a0dfc1',
  '#6ccfa0',
  '#35c98a',
  '#1fa86e',
  '#12915d',
  '#0b784d',
  '#076340',
  '#034c31',
];

/** Greys with a tint of green, to match the brand's colour on dark surfaces. */
const dark: MantineColorsTuple = [
  '#e3e8e6',
  '#b4bebb',
  '#8f9b97',
  '#66726e',
  '#3b4744',
  '#2b3633',
  '#1f2926',
  '#151d1b',
  '#101715',
  '#0b100f',
];

const gray: MantineColorsTuple = [
  '#faf9f6',
  '#f3f1ec',
  '#e8e6df',
  '#dcd9d0',
  '#c6c3b8',
  '#a5a399',
  '#807f77',
  '#5c5c56',
  '#3b3d39',
  '#222523',
];

const sans =
  '"Instrument Sans Variable", system-ui, -apple-system, "Segoe UI", "PingFang SC", "Noto Sans CJK SC", "Microsoft YaHei", sans-serif';

/**
 * The brand's colour is dark green in the light scheme and bright green in the dark one, so the
 * text colour depends on the scheme. Red for destructive actions is the same in both, dark enough
 * for white text.
 */
const variantColorResolver: VariantColorsResolver = (input) => {
  const colors = defaultVariantColorsResolver(input);
  if (input.variant !== 'filled') return colors;
  const color = input.color ?? input.theme.primaryColor;
  if (color === 'gate') return { ...colors, color: 'var(--tg-on-brand)' };
  return color === 'red' ? { ...colors, background: '#c3291f', hover: '#a8221a', color: '#ffffff' } : colors;
};

export const theme = createTheme({
  colors: { gate, dark, gray },
  primaryColor: 'gate',
  primaryShade: { light: 7, dark: 4 },
  variantColorResolver,
  black: '#16201d',
  fontFamily: sans,
  fontFamilyMonospace: 'ui-monospace, "SF Mono", "Cascadia Mono", "Liberation Mono", Menlo, monospace',
  headings: { fontFamily: sans, fontWeight: '620', textWrap: 'balance' },
  defaultRadius: 'md',
  focusRing: 'auto',
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    // Buttons have two sizes after sign-in: 36 px, and 30 px in rows.
    Button: Button.extend({
      vars: (_theme, { size }) => ({
        root: size === 'xs' ? { '--button-fz': '13px', '--button-padding-x': '12px' } : {},
      }),
    }),
    Switch: Switch.extend({ defaultProps: { withThumbIndicator: false } }),
    // By name, or sign-in would load it. A menu beside its button is inside a landmark of the page,
    // and one without a placeholder has nothing but its entries.
    Menu: { defaultProps: { position: 'bottom-end', withinPortal: false, withInitialFocusPlaceholder: false } },
    // What stands on the brand's colour, as in buttons.
    Checkbox: { defaultProps: { iconColor: 'var(--tg-on-brand)' } },
    Radio: { defaultProps: { iconColor: 'var(--tg-on-brand)' } },
    Pagination: { vars: () => ({ root: { '--pagination-active-color': 'var(--tg-on-brand)' } }) },
    Modal: { defaultProps: { centered: true } },
    // A path has no spaces to break at.
    Code: { styles: { root: { overflowWrap: 'anywhere' } } },
    // What opens keeps to the page's margins.
    Popover: { defaultProps: { shadow: 'md', middlewares: { flip: true, shift: { padding: 16 } } } },
    // Inside a dialog a header is not a landmark of the page.
    ModalHeader: ModalHeader.extend({ defaultProps: { role: 'presentation' } }),
    DrawerHeader: DrawerHeader.extend({ defaultProps: { role: 'presentation' } }),
  },
});
