import type { PluginFault } from '../types.ts';
import { RULES, type RuleId } from './rules.ts';

/** A fault with the hint of its rule, or with a better one. */
export function makeFault(path: string, rule: RuleId, message: string, hint: string | null = RULES[rule]): PluginFault {
  return hint === null ? { path, rule, message } : { path, rule, message, hint };
}

/** One segment of a JSON pointer (RFC 6901). */
const pointerSegment = (segment: string | number): string =>
  String(segment).replaceAll('~', '~0').replaceAll('/', '~1');

/** A JSON pointer, `/routes/0/path`; the empty string is the manifest itself. */
export const pointer = (...segments: readonly (string | number)[]): string =>
  segments.map((segment) => `/${pointerSegment(segment)}`).join('');

/** The pointers above one, without the manifest itself: `/a/b/c` lies in `/a/b` and `/a`. */
function ancestorsOf(path: string): string[] {
  const ancestors: string[] = [];
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1))
    ancestors.push(path.slice(0, end));
  return ancestors;
}

/**
 * Far more than anyone reads, and few enough that a manifest made of mistakes costs nothing to
 * refuse.
 */
export const MAX_FAULTS = 500;

/**
 * Gathers faults, the first 500 of them; a later check asks `clean` first, so that one mistake is
 * reported once.
 */
export class FaultList {
  readonly faults: PluginFault[] = [];
  private readonly at = new Set<string>();
  private readonly above = new Set<string>();

  add(path: string, rule: RuleId, message: string): void {
    this.addAll([makeFault(path, rule, message)]);
  }

  addAll(faults: readonly PluginFault[]): void {
    for (const fault of faults.slice(0, MAX_FAULTS - this.faults.length)) {
      this.faults.push(fault);
      this.at.add(fault.path);
      for (const path of ancestorsOf(fault.path)) this.above.add(path);
    }
  }

  /** True when something is at fault at this very pointer. */
  has(path: string): boolean {
    return this.at.has(path);
  }

  /** True when nothing at, above or below these pointers is at fault. */
  clean(...paths: readonly string[]): boolean {
    return paths.every(
      (path) =>
        !this.at.has(path) && !this.above.has(path) && !ancestorsOf(path).some((ancestor) => this.at.has(ancestor)),
    );
  }
}
