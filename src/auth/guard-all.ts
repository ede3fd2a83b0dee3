import type { Logger } from '../kernel/index.ts';
import { orUnavailable } from './errors.ts';

type Operation = (...args: never[]) => Promise<unknown>;
type Operations = { readonly [name: string]: Operation | Operations };

/**
 * Wraps every method of a service, nested objects included, with `orUnavailable`: trouble with the
 * store becomes the room's one answer.
 */
export function guardAll<Service extends object>(logger: Logger, service: Service): Service {
  return guardObject(logger, service as Operations) as Service;
}

function guardObject(logger: Logger, operations: Operations): Operations {
  const guarded = Object.entries(operations).map(([name, member]) => [
    name,
    typeof member === 'function'
      ? (...args: never[]) => orUnavailable(logger, () => member(...args))
      : guardObject(logger, member),
  ]);
  return Object.fromEntries(guarded);
}
