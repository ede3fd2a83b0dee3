import { expect, test } from 'bun:test';
import { accentShades, readContrast } from '../../src/panel/theme/accent-shades.ts';

test('every accent colour has shades that can be read', () => {
  for (let red = 0; red <= 255; red += 51) {
    for (let green = 0; green <= 255; green += 51) {
      for (let blue = 0; blue <= 255; blue += 51) {
        const accent = `#${[red, green, blue].map((part) => part.toString(16).padStart(2, '0')).join('')}`;
        const shades = accentShades(accent);
        const [bright = '', strong = ''] = [shades[4], shades[7]];
        const contrasts = [
          readContrast(strong, '#ffffff'),
          readContrast(strong, '#e4e4df'),
          readContrast(bright, '#121917'),
          readContrast(bright, '#293633'),
        ];
        expect([accent, contrasts.every((value) => value >= 4.4999)]).toEqual([accent, true]);
      }
    }
  }
});
