import { type Sentence, sentence, withoutMessage } from '../../kernel/index.ts';
import type { ContractNeed, PluginFault } from '../types.ts';
import { RULES, type RuleId } from './rules.ts';

/** A fault with the hint of its rule. */
export function makeFault(path: string, rule: RuleId, said: Sentence): PluginFault {
  const hint = RULES[rule];
  return hint === null ? { path, rule, ...said } : { path, rule, ...said, ...toHint(sentence(hint)) };
}

/** The members of a fault that say how it is fixed. */
export const toHint = (hint: Sentence): Pick<PluginFault, 'hint' | 'hint_sentence'> => ({
  hint: hint.message,
  hint_sentence: withoutMessage(hint),
});

/** One segment of a JSON pointer (RFC 6901). */
const pointerSegment = (segment: string | number): string =>
  String(segment).replaceAll('~', '~0').replaceAll('/', '~1');

/** A JSON pointer such as `/routes/0/path`; the empty string is the manifest itself. */
export const pointer = (...segments: readonly (string | number)[]): string =>
  segments.map((segment) => `/${pointerSegment(segment)}`).join('');

/** The parents of a pointer, without the manifest itself: `/a/b` and `/a` for `/a/b/c`. */
function listAncestors(path: string): string[] {
  const ancestors: string[] = [];
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1))
    ancestors.push(path.slice(0, end));
  return ancestors;
}

/** Far more faults than anyone reads, and few enough that refusing them all costs nothing. */
export const MAX_FAULTS = 500;

/**
 * Collects the first `MAX_FAULTS` faults. A later check asks `clean` first, so that one mistake is
 * reported once.
 */
export class FaultList {
  readonly faults: PluginFault[] = [];
  private readonly at = new Set<string>();
  private readonly above = new Set<string>();

  add(path: string, rule: RuleId, said: Sentence): void {
    this.addAll([makeFault(path, rule, said)]);
  }

  addAll(faults: readonly PluginFault[]): void {
    for (const fault of faults.slice(0, MAX_FAULTS - this.faults.length)) {
      this.faults.push(fault);
      this.at.add(fault.path);
      for (const path of listAncestors(fault.path)) this.above.add(path);
    }
  }

  /** Whether there is a fault at exactly this pointer. */
  has(path: string): boolean {
    return this.at.has(path);
  }

  /** Whether there is no fault at, above or below these pointers. */
  clean(...paths: readonly string[]): boolean {
    return paths.every(
      (path) =>
        !this.at.has(path) && !this.above.has(path) && !listAncestors(path).some((ancestor) => this.at.has(ancestor)),
    );
  }
}

const WORDS = { field: 'the manifest field', protocol: 'the protocol', hook: 'the hook', capability: 'the capability' };

/** What is needed, in words for people who have not written the plugin. */
export const describeNeeds = (needs: readonly ContractNeed[]): string =>
  needs
    .map((need) => (need.code === 'api' ? `plugin API ${need.version}` : `${WORDS[need.code]} ${need.name}`))
    .join(', ');

/**
 * What a refused plugin needs of a newer contract: if it says so by its `apiVersion`, or if names
 * that this gateway does not know are all that is wrong. Empty if it is simply faulty.
 */
export function findNeeds(faults: readonly PluginFault[]): ContractNeed[] {
  const needs = faults.flatMap(({ needs: need }) => (need ? [need] : []));
  const api = needs.find(({ code }) => code === 'api');
  if (api) return [api];
  if (needs.length < faults.length) return [];
  const words = needs.map((need) => describeNeeds([need]));
  return needs.filter((_, at) => words.indexOf(words[at] ?? '') === at);
}
