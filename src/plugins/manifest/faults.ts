import type { PluginFault } from '../types.ts';

/** One segment of a JSON pointer (RFC 6901). */
const pointerSegment = (segment: string | number): string =>
  String(segment).replaceAll('~', '~0').replaceAll('/', '~1');

/** A JSON pointer, `/routes/0/path`; the empty string is the manifest itself. */
export const pointer = (...segments: readonly (string | number)[]): string =>
  segments.map((segment) => `/${pointerSegment(segment)}`).join('');

/** Gathers faults; a later check asks `clean` first, so that one mistake is reported once. */
export class FaultList {
  readonly faults: PluginFault[] = [];

  add(path: string, rule: string, message: string, hint?: string): void {
    this.faults.push(hint === undefined ? { path, rule, message } : { path, rule, message, hint });
  }

  /** True when nothing at, above or below these pointers is at fault. The manifest's own level (missing or unknown names) does not count. */
  clean(...paths: readonly string[]): boolean {
    return paths.every(
      (path) =>
        !this.faults.some(
          (fault) =>
            fault.path === path ||
            fault.path.startsWith(`${path}/`) ||
            (fault.path !== '' && path.startsWith(`${fault.path}/`)),
        ),
    );
  }
}
