/** The audit page has words for all that the server writes. */
import { expect, test } from 'bun:test';
import { listLanguages, readTexts } from '../../scripts/check-texts.ts';
import { actionTexts, areaTexts, signInTexts } from '../../src/panel/pages/audit/audit-texts.ts';
import { AUDIT_ACTIONS } from '../../src/store/ports/index.ts';

test('every action of the audit log, and the area that it is filtered by, has a text in each language', () => {
  const texts = { ...actionTexts, ...signInTexts };
  expect(Object.keys(texts).toSorted()).toEqual([...AUDIT_ACTIONS].toSorted());
  const areas = new Set(AUDIT_ACTIONS.map((action) => action.split('.')[0]));
  expect(Object.keys(areaTexts).toSorted()).toEqual([...areas].toSorted() as string[]);
  const used = [...Object.values(texts), ...Object.values(areaTexts)];
  for (const language of listLanguages()) {
    const written = readTexts(language) as Record<string, string>;
    expect([language, used.filter((key) => !written[key])]).toEqual([language, []]);
  }
});
