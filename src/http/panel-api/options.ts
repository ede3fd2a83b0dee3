import { Elysia, t } from 'elysia';
import type { Result } from '../../kernel/index.ts';
import { httpErrors } from '../errors.ts';
import { type Kit, ok, strictObject } from '../kit.ts';
import type { RecordAudit } from '../record-audit.ts';

export type OptionView = {
  key: string;
  /** Always a text. Of a secret `***` when one is set, else empty. */
  value: string;
  type: 'text' | 'url' | 'choice' | 'boolean' | 'integer' | 'list' | 'json' | 'secret';
  default: string;
  group: string;
  /** The values of a `choice`. */
  choices?: readonly string[];
  secret?: true;
  /** A secret that no `CRYPTO_SECRET` opens: it must be entered again. */
  unreadable?: true;
};

/** What a change did to one option; of a secret only whether it is set. */
export type OptionChanged = { key: string; before: string; after: string };
/** `index` is that of the change in the request. */
export type OptionFault = { index: number; field: 'key' | 'value'; message: string };

/** The options and their rules. A change counts on every node, here when it resolves. */
export type OptionDesk = {
  list(): Promise<OptionView[]>;
  /** All of the changes or none. `views` are the named options, `changed` those that are another now. */
  change(
    changes: readonly { key: string; value: string }[],
  ): Promise<Result<{ views: OptionView[]; changed: OptionChanged[] }, OptionFault[]>>;
};

type OptionRouteDeps = { options: OptionDesk; audit: RecordAudit };

/** Options in one request; more of them than exist. */
const MAX_CHANGES = 200;
const change = { key: t.String({ maxLength: 200 }), value: t.String({ maxLength: 100_000 }) };

export function optionRoutes(kit: Kit, { options, audit }: OptionRouteDeps) {
  return new Elysia({ normalize: false, tags: ['Options'] })
    .use(kit)
    .get('/api/option', async () => ok(await options.list()), { root: true, detail: { summary: 'All options' } })
    .put(
      '/api/option',
      async ({ body, panel, origin }) => {
        const { changes, fieldOf } = readChanges(body);
        const done = await options.change(changes);
        if (!done.ok)
          throw refuse(done.error.map(({ index, field, message }) => ({ field: fieldOf(index, field), message })));
        for (const { key, before, after } of done.value.changed) {
          await audit({ panel, origin }, { action: 'option.set', target: `option:${key}`, detail: { before, after } });
        }
        return ok(done.value.views);
      },
      {
        root: true,
        body: strictObject({
          key: t.Optional(change.key),
          value: t.Optional(change.value),
          options: t.Optional(t.Array(strictObject(change), { minItems: 1, maxItems: MAX_CHANGES })),
        }),
        detail: {
          summary: 'Set options',
          description: 'One as `{key, value}`, or several as `{options: [{key, value}, …]}`: all of them or none.',
        },
      },
    );
}

type ChangeBody = { key?: string; value?: string; options?: { key: string; value: string }[] };

/** Both forms of a change as one. `fieldOf` names a field of the body as it was sent. */
function readChanges({ key, value, options }: ChangeBody): {
  changes: { key: string; value: string }[];
  fieldOf: (index: number, field: string) => string;
} {
  if (options !== undefined) {
    if (key !== undefined || value !== undefined) {
      throw refuse([{ field: 'options', message: 'Send either key and value, or options.' }]);
    }
    return { changes: options, fieldOf: (index, field) => `options.${index}.${field}` };
  }
  if (key === undefined) throw refuse([{ field: 'key', message: 'The field "key" is missing: name an option.' }]);
  if (value === undefined) throw refuse([{ field: 'value', message: 'The field "value" is missing: give a text.' }]);
  return { changes: [{ key, value }], fieldOf: (_index, field) => field };
}

function refuse(faults: { field: string; message: string }[]) {
  const [first] = faults;
  return httpErrors.validation_failed({
    message: first?.message,
    param: first?.field,
    details: { errors: faults.map((fault) => ({ ...fault, rule: 'wrong_value' })) },
  });
}
