/** Red, green and blue, from 0 to 1. */
type Rgb = readonly [number, number, number];

/** The shades that text stands on or is written in, as in `theme.ts`. */
const lightShade = 7;
const darkShade = 4;
const white: Rgb = [1, 1, 1];
/** Text on the filled buttons of the dark scheme. */
const ink: Rgb = [0.071, 0.098, 0.09];
/** The darkest surface under coloured text in the light scheme, the lightest in the dark one. */
const paper: Rgb = [0.894, 0.894, 0.875];
const night: Rgb = [0.161, 0.212, 0.2];
const minContrast = 4.5;

/**
 * Ten shades of an accent colour such as `#0b784d`, from light to dark, as the built-in green has
 * them: in the light scheme shade 7 is read on paper and under white text, in the dark one shade 4
 * on ink and under dark text, each with a contrast of at least 4.5 to 1.
 */
export function accentShades(accent: string): string[] {
  const base = parse(accent);
  const strong = adjust(base, [0, 0, 0], (shade) => Math.min(contrast(shade, white), contrast(shade, paper)));
  const bright = adjust(base, white, (shade) => Math.min(contrast(shade, ink), contrast(shade, night)));
  return Array.from({ length: 10 }, (_, index) => {
    if (index <= darkShade) return print(mix(bright, white, ((darkShade - index) / darkShade) * 0.88));
    if (index >= lightShade) return print(mix(strong, [0, 0, 0], (index - lightShade) * 0.2));
    return print(mix(bright, strong, (index - darkShade) / (lightShade - darkShade)));
  });
}

/** The least change towards `end` with which the colour has enough contrast. */
function adjust(base: Rgb, end: Rgb, readContrast: (shade: Rgb) => number): Rgb {
  for (let step = 0; step <= 100; step += 1) {
    const shade = rounded(mix(base, end, step / 100));
    if (readContrast(shade) >= minContrast) return shade;
  }
  return end;
}

/** By WCAG 2.2: the ratio of relative luminances. */
export function readContrast(one: string, other: string): number {
  return contrast(parse(one), parse(other));
}

function contrast(one: Rgb, other: Rgb): number {
  const [high = 0, low = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}

const luminance = ([red, green, blue]: Rgb): number =>
  0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);

const linear = (value: number): number => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);

const mix = (one: Rgb, other: Rgb, share: number): Rgb => [
  one[0] + (other[0] - one[0]) * share,
  one[1] + (other[1] - one[1]) * share,
  one[2] + (other[2] - one[2]) * share,
];

const parse = (hex: string): Rgb => [byteAt(hex, 1), byteAt(hex, 3), byteAt(hex, 5)];
const byteAt = (hex: string, at: number): number => Number.parseInt(hex.slice(at, at + 2), 16) / 255;
const rounded = (colour: Rgb): Rgb => parse(print(colour));
const print = (colour: Rgb): string =>
  `#${colour
    .map((value) =>
      Math.round(value * 255)
        .toString(16)
        .padStart(2, '0'),
    )
    .join('')}`;
