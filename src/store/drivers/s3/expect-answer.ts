import type { Result } from '../../../kernel/index.ts';
import type { Bucket } from './call-bucket.ts';
import { readXml, type XmlElement } from './read-answer.ts';
import type { BucketAnswer, BucketFault } from './types.ts';

/** Makes the error of the room's catalogue for what is stored there, of a reason in words. */
type Refuse = (reason: string) => Error;

/** The answer; a fault is thrown as `refuse` makes it. */
export function expectAnswer(answered: Result<BucketAnswer, BucketFault>, refuse: Refuse): BucketAnswer {
  if (answered.ok) return answered.value;
  throw refuse(answered.error.message);
}

/** One page of a list. */
export async function readList(bucket: Bucket, query: Record<string, string>, refuse: Refuse): Promise<XmlElement> {
  const text = await expectAnswer(await bucket.call({ method: 'GET', query }), refuse).text();
  const page = text.ok ? readXml(text.value) : undefined;
  if (!page || page.name === 'Error') throw refuse('the bucket answers a list with something else');
  return page;
}
