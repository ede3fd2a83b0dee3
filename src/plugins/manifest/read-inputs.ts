import { isObject } from '../../kernel/index.ts';
import type { InputType, LocalizedText, RequestInput } from '../types.ts';

const MAX_INPUTS = 50;
const MAX_MODELS = 500;
const MAX_EXAMPLE = 512;
const NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
const TYPES: ReadonlySet<unknown> = new Set<InputType>(['text', 'image', 'video', 'audio']);

/** Undefined for what tells nothing; an input that does not fit is left out. */
export function inputsOf(
  value: unknown,
  textsOf: (value: unknown) => LocalizedText | undefined,
): Record<string, RequestInput> | undefined {
  if (!isObject(value)) return undefined;
  const inputs = Object.entries(value)
    .slice(0, MAX_INPUTS)
    .flatMap(([name, input]) => {
      if (!NAME.test(name) || !isObject(input) || !TYPES.has(input.type)) return [];
      const { type, required, description, example, models } = input;
      const texts = textsOf(description);
      const read: RequestInput = {
        type: type as InputType,
        required: required === true,
        ...(texts && { description: texts }),
        ...(typeof example === 'string' && example.length <= MAX_EXAMPLE && { example }),
        ...(Array.isArray(models) && {
          models: models.slice(0, MAX_MODELS).filter((name) => typeof name === 'string'),
        }),
      };
      return [[name, read] as const];
    });
  return inputs.length === 0 ? undefined : Object.fromEntries(inputs);
}
