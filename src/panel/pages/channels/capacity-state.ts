import type { TFunction } from 'i18next';
import type { Channel } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import type { Format } from '../../ui/display/use-format.ts';

type Capacity = Channel['capacity'];
type RestReason = Exclude<Capacity['rest_reason'], ''>;
/** What is known of one model of an account. */
export type ModelCapacity = Omit<Capacity, 'models' | 'credentials'>;

/** Why an account or a model rests. */
export const restReasons: Readonly<Record<RestReason, TextKey>> = {
  capacity: 'channels.rest.capacity',
  rate: 'channels.rest.rate',
  balance: 'channels.rest.balance',
  credential: 'channels.rest.credential',
  vendor_busy: 'channels.rest.vendor_busy',
  outage: 'channels.rest.outage',
};

export const isResting = ({ resting_until: until }: Pick<ModelCapacity, 'resting_until'>): boolean =>
  until > Date.now() / 1000;

/** Why nothing is sent, as a sentence of its own. */
export function describeRestReason(reason: RestReason, t: TFunction): string {
  const text = t(restReasons[reason]);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The whole channel rests, not only one of its models. */
export const isPaused = (capacity: Capacity): boolean =>
  isResting(capacity) &&
  !capacity.models.some(
    (one) => one.rest_reason === capacity.rest_reason && one.resting_until === capacity.resting_until,
  );

export const isFull = ({ running, abandoned, limit }: ModelCapacity): boolean =>
  limit !== null && limit > 0 && running + abandoned >= limit;

/** Whether an account sends new tasks at all; `full`: none of its models can take one. */
export function findCapacityState(capacity: Capacity, modelCount: number): 'paused' | 'full' | 'open' {
  if (isPaused(capacity)) return 'paused';
  const { models } = capacity;
  const isModelShut = (one: ModelCapacity): boolean => isFull(one) || isResting(one);
  const allShut = models.length > 0 && models.length >= modelCount && models.every(isModelShut);
  return allShut || (!capacity.learned && isFull(capacity)) ? 'full' : 'open';
}

/** Tasks wait, or something other than a pause of the whole channel keeps new ones from it. */
export function isCapacityShort({ capacity }: Pick<Channel, 'capacity'>): boolean {
  if (capacity.waiting > 0 || capacity.abandoned > 0) return true;
  return !isPaused(capacity) && (isFull(capacity) || capacity.models.some((one) => isFull(one) || isResting(one)));
}

/** The most models that a sentence names. */
const mostNamed = 3;

/** "a is full. b is paused and resumes in 1 minute."; null where nothing or too much is to say. */
export function describeShutModels({ models }: Capacity, t: TFunction, format: Format): string | null {
  const shut = models.filter((one) => isFull(one) || isResting(one));
  if (shut.length === 0 || shut.length < models.length || shut.length > mostNamed) return null;
  const sentences = shut.map((one) =>
    isResting(one)
      ? t('channels.modelPaused', { model: one.model, when: format.ago(one.resting_until) })
      : t('channels.modelFull', { model: one.model }),
  );
  return sentences.join(' ');
}
