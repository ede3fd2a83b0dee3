import { m, type Row } from './base.ts';

/** Names that would look like others. */
export const hidden: readonly Row[] = [
  ['a name that turns the direction of text', m({ name: 'Acme \u202egnp.exe' }), '/name name.characters'],
  ['a name with a line break', m({ name: 'Acme\nVideo' }), '/name name.characters'],
  ['a name with an escape sequence', m({ name: 'Acme\u001b[2J' }), '/name name.characters'],
  ['a name with a space of no width', m({ name: 'Ac\u200bme' }), '/name name.characters'],
  ['a name with a joiner after a Latin letter', m({ name: 'Acme\u200d' }), '/name name.characters'],
  ['a name with a line separator', m({ name: 'Acme\u2028Video' }), '/name name.characters'],
  ['an author who is isolated', m({ author: { name: '\u2066Acme' } }), '/author/name author.name.characters'],
  ['a model with a right-to-left mark', m({ models: ['acme\u200f'] }), '/models/0 models.item.characters'],
  ['a Persian name with its joiner', m({ name: 'ویدئوهای می‌خواهم' })],
  ['a name that ends with a Malayalam joiner', m({ name: 'അവന്‍' })],
  ['a name with an emoji of several people', m({ name: 'Family 👨‍👩‍👧' })],
];
