import { Elysia, t } from 'elysia';
import { httpErrors } from '../errors.ts';
import { type Kit, ok, strictObject } from '../kit.ts';
import { OPTION_CATALOGUE } from '../option-catalogue.ts';
import type { RecordAudit } from '../record-audit.ts';

/** The stored options. `put` also tells the other rooms and nodes. */
export type OptionsSource = {
  all(): Promise<{ key: string; value: string }[]>;
  put(key: string, value: string): Promise<void>;
};

export function optionRoutes(kit: Kit, { options, audit }: { options: OptionsSource; audit: RecordAudit }) {
  const readStored = async () => new Map((await options.all()).map(({ key, value }) => [key, value]));

  return new Elysia({ normalize: false, tags: ['Options'] })
    .use(kit)
    .get(
      '/api/option',
      async () => {
        const stored = await readStored();
        return ok(
          Object.entries(OPTION_CATALOGUE).map(([key, rule]) => ({
            key,
            value: stored.get(key) ?? rule.default,
            type: rule.type,
            default: rule.default,
          })),
        );
      },
      { root: true, detail: { summary: 'All options' } },
    )
    .put(
      '/api/option',
      async ({ body, panel, origin }) => {
        const { key, value } = body;
        const rule = Object.hasOwn(OPTION_CATALOGUE, key) ? OPTION_CATALOGUE[key] : undefined;
        if (!rule) {
          throw refuse(
            'key',
            `There is no option "${key.slice(0, 100)}". Options: ${Object.keys(OPTION_CATALOGUE).join(', ')}.`,
          );
        }
        const wanted = rule.check(value);
        if (wanted !== undefined) throw refuse('value', `The value of ${key} must be ${wanted}.`);
        const before = (await readStored()).get(key) ?? rule.default;
        await options.put(key, value);
        await audit(
          { panel, origin },
          { action: 'option.set', target: `option:${key}`, detail: { before, after: value } },
        );
        return ok({ key, value, type: rule.type, default: rule.default });
      },
      {
        root: true,
        body: strictObject({ key: t.String(), value: t.String({ maxLength: 100_000 }) }),
        detail: { summary: 'Set an option' },
      },
    );
}

const refuse = (field: string, message: string) =>
  httpErrors.validation_failed({
    message,
    param: field,
    details: { errors: [{ field, rule: 'wrong_value', message }] },
  });
