import type { CallableModel } from '../../api/types.ts';
import type { RequestBody } from './attached-files.ts';
import { findInvalidField } from './find-invalid-field.ts';

type Offer = Pick<CallableModel, 'schema'>;

/**
 * What a request may say of an example's facts: a plugin's examples are of all its models, and some
 * facts are counted from other fields. Null: nothing, or nothing that this model takes.
 */
export function usableFacts(offer: Offer, facts: RequestBody): RequestBody | null {
  const { properties } = offer.schema;
  // A field of a fact's name that is no fact has other values.
  const said = Object.entries(facts).filter(
    ([name]) => Object.hasOwn(properties, name) && properties[name]?.['x-input'] === undefined,
  );
  const isTaken = said.every(([name, value]) => {
    const { enum: choices } = properties[name] ?? {};
    return choices === undefined || (choices as readonly unknown[]).includes(value);
  });
  const fields = Object.fromEntries(said);
  return said.length > 0 && isTaken && findInvalidField(offer, fields) === null ? fields : null;
}
