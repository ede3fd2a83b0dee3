import type { Meta } from '../../../contracts/v1.d.ts';
import { isObject } from '../../kernel/index.ts';
import { checkFact } from '../usage/check-facts.ts';
import { type FaultList, pointer } from './faults.ts';
import { usageFieldOf } from './normalize-meta.ts';

/**
 * Checks that every entry of `meta.usageExamples` has a valid fact for each field, and no others.
 */
export function checkUsageExamples({ usageSchema = {}, usageExamples }: Meta, list: FaultList): void {
  if (!Array.isArray(usageExamples) || !isObject(usageSchema)) return;
  for (const [index, example] of usageExamples.entries()) {
    if (!isObject(example) || !isObject(example.facts)) continue;
    const { facts } = example;
    const at = pointer('usageExamples', index, 'facts');
    for (const [name, field] of Object.entries(usageSchema)) {
      const factAt = at + pointer(name);
      if (!Object.hasOwn(facts, name)) {
        list.add(factAt, 'usageExample.facts.complete', 'an example names every declared usage field');
      } else if (list.clean(pointer('usageSchema', name))) {
        const checked = checkFact(usageFieldOf(field), facts[name]);
        if (!checked.ok) list.add(factAt, 'usageExample.facts.value', checked.error);
      }
    }
    for (const name of Object.keys(facts)) {
      if (!Object.hasOwn(usageSchema, name)) {
        list.add(at + pointer(name), 'usageExample.facts.undeclared', `"${name}" is not declared in usageSchema`);
      }
    }
  }
}
