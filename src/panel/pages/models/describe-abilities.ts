import type { TFunction } from 'i18next';
import type { CallableModel } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import type { Format } from '../../ui/display/use-format.ts';
import { isFileInput } from '../playground/schema-fields.ts';

type Schema = CallableModel['schema'];
type Wording = { t: TFunction; format: Format; language: string };

/** Longer lists of choices are said by their ends. */
const mostListed = 3;

/** "From text or image · 1–60 sec · 720p, 1080p": what a model takes, and what it makes of it. */
export const describeAbilities = ({ properties, required }: Schema, wording: Wording): string =>
  [
    describeInputs({ properties, required }, wording),
    describeLength(properties, wording),
    describeResolutions(properties),
  ]
    .filter((part) => part !== '')
    .join(' · ');

const inputTexts = {
  text: 'models.medium.text',
  image: 'models.medium.image',
  video: 'models.medium.video',
  audio: 'models.medium.sound',
} as const satisfies Record<string, TextKey>;

function describeInputs(
  { properties, required }: Pick<Schema, 'properties' | 'required'>,
  { t, language }: Wording,
): string {
  const files = Object.entries(properties).filter(([, field]) => isFileInput(field));
  // A model that needs a file makes nothing of words alone.
  const needed = files.filter(([name]) => required.includes(name));
  const kinds = (needed.length > 0 ? needed : files).map(([, field]) => field['x-input']);
  const all = [...new Set([...(needed.length > 0 ? [] : ['text']), ...kinds])] as (keyof typeof inputTexts)[];
  const words = all.map((kind) => t(inputTexts[kind]));
  const type = needed.length > 0 ? 'conjunction' : 'disjunction';
  const inputs = new Intl.ListFormat(language, { type }).format(
    // German nouns keep their capital.
    language === 'de' ? words : words.map((word) => word.toLocaleLowerCase(language)),
  );
  return t('models.takes', { inputs });
}

/** How long a result can be; empty where the plugin does not say. */
function describeLength(properties: Schema['properties'], { t, format }: Wording): string {
  const field = properties.seconds;
  if (field?.['x-range'] !== 'plugin' || field['x-unit'] !== 'second') return '';
  const { minimum = 0, maximum = 0, enum: choices = [] } = field;
  const isListed = choices.length > 0 && choices.length <= mostListed;
  const lengths = isListed
    ? choices.map((choice) => format.number(Number(choice))).join(', ')
    : t('play.field.range', { low: format.number(minimum), high: format.number(maximum) });
  return `${lengths} ${t('play.field.seconds')}`;
}

function describeResolutions(properties: Schema['properties']): string {
  const choices = (properties.resolution?.enum ?? []).map(String);
  return choices.length <= mostListed ? choices.join(', ') : `${choices[0]}–${choices.at(-1)}`;
}
