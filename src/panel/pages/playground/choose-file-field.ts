import type { CallableModel } from '../../api/types.ts';
import { findMedium } from './find-medium.ts';

type Offer = Pick<CallableModel, 'model' | 'schema' | 'surfaces' | 'examples'>;

const defaultField = 'image';

/**
 * The field for a dropped or pasted file: the first empty input of its kind that the model
 * declares. Images also go to `image`, the next one beside it: plugins declare only what a model
 * requires. Null: the model takes no file of the kind, or has no room for one more.
 */
export function chooseFileField(offer: Offer, type: string, taken: ReadonlySet<string>): string | null {
  const kind = type.split('/')[0] ?? '';
  const declared = Object.entries(offer.schema.properties)
    // A short text is a name or an address, and no file.
    .filter(([, field]) => field['x-input'] === kind && (kind !== 'text' || field['x-example'] === undefined))
    .map(([name]) => name);
  const empty = declared.find((name) => !taken.has(name));
  if (empty !== undefined) return empty;
  if (kind !== 'image' || !takesImages(offer)) return null;
  let name = defaultField;
  for (let number = 2; taken.has(name); number += 1) name = `${defaultField}_${number}`;
  return name;
}

const takesImages = (offer: Offer): boolean => ['video', 'image'].includes(findMedium(offer));
