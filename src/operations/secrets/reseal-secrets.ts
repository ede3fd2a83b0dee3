import { type Clock, isObject, parseJson, type SecretBox } from '../../kernel/index.ts';
import { SEALED_COLUMNS, type SealedColumn, type Store } from '../../store/ports/index.ts';

/** Values of one column. `lost`: no secret opens them; they stay as they are. */
export type ResealCount = { column: SealedColumn; resealed: number; current: number; lost: number };

const AT_ONCE = 200;
/** What every sealed value looks like: version, 12 bytes, 16 bytes, the rest. */
const SEALED = /^v1\.[\w-]{16}\.[\w-]{22}\.[\w-]*$/;

/**
 * Seals every stored secret under the current CRYPTO_SECRET. Each value is replaced by one
 * statement, if nobody has changed it: a run that is killed leaves every value intact, and the next
 * one goes on. Running nodes need to know the secret before.
 */
export async function resealSecrets(
  { store, secretBox, clock }: { store: Store; secretBox: SecretBox; clock: Clock },
  onProgress?: () => void,
): Promise<ResealCount[]> {
  const counts: ResealCount[] = [];
  for (const column of SEALED_COLUMNS) {
    const count: ResealCount = { column, resealed: 0, current: 0, lost: 0 };
    for (let after = ''; ; ) {
      const page = await store.sealed.page(column, after, AT_ONCE);
      for (const { id, text } of page) {
        const next = resealText(secretBox, text, count);
        // A value that has changed since then was sealed by the writer; the next run looks.
        if (next !== text && (await store.sealed.replace(column, { id, text: next }, text))) onProgress?.();
      }
      after = page.at(-1)?.id ?? after;
      if (page.length < AT_ONCE) break;
      await clock.sleep(1);
    }
    counts.push(count);
  }
  for (const topic of ['channels', 'options'] as const) await store.publish(topic);
  return counts;
}

/** The rows of a column with a value that no secret opens, by their keys. */
export async function findUnreadable(
  { store, secretBox }: { store: Pick<Store, 'sealed'>; secretBox: SecretBox },
  column: SealedColumn,
): Promise<string[]> {
  const unreadable: string[] = [];
  for (let after = ''; ; ) {
    const page = await store.sealed.page(column, after, AT_ONCE);
    for (const { id, text } of page) {
      const count: ResealCount = { column, resealed: 0, current: 0, lost: 0 };
      resealText(secretBox, text, count);
      if (count.lost > 0) unreadable.push(id);
    }
    after = page.at(-1)?.id ?? after;
    if (page.length < AT_ONCE) return unreadable;
  }
}

/** A sealed value, or JSON that holds some. */
function resealText(box: SecretBox, text: string, count: ResealCount): string {
  if (SEALED.test(text)) return resealValue(box, text, count);
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null) return text;
  const before = count.resealed;
  const next = JSON.stringify(resealInside(box, value, count));
  return count.resealed === before ? text : next;
}

function resealInside(box: SecretBox, value: unknown, count: ResealCount): unknown {
  if (typeof value === 'string') return SEALED.test(value) ? resealValue(box, value, count) : value;
  if (Array.isArray(value)) return value.map((item) => resealInside(box, item, count));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, resealInside(box, item, count)]));
}

function resealValue(box: SecretBox, sealed: string, count: ResealCount): string {
  const next = box.reseal(sealed);
  if (next === undefined) count.lost += 1;
  else if (next === sealed) count.current += 1;
  else count.resealed += 1;
  return next ?? sealed;
}
