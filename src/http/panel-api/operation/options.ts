import { Elysia, type Static, t } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import type { Result } from '../../../kernel/index.ts';
import { httpErrors } from '../../errors.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import type { RecordAudit } from '../record-audit.ts';
import { readProof } from '../sign-in/security-proof.ts';

const Trial = t.Union([
  t.Literal('smtp'),
  t.Literal('oidc'),
  t.Literal('turnstile'),
  t.Literal('wechat'),
  t.Literal('telegram'),
]);

export type OptionView = {
  key: string;
  /** Always a text. Of a secret `***` when one is set, else empty. */
  value: string;
  type: 'text' | 'url' | 'choice' | 'boolean' | 'integer' | 'list' | 'json' | 'secret';
  default: string;
  group: string;
  /** The values of a `choice`. */
  choices?: readonly string[];
  /** Of an `integer`. */
  min?: number;
  max?: number;
  /** Characters; entries of a `list`. */
  max_length?: number;
  max_items?: number;
  /** A text of several lines. */
  multiline?: true;
  /** The scope of the Security Proof that a change takes. */
  proof: OptionProof;
  /** What POST /api/option/test calls the trial of its group; left out where there is none. */
  trial?: Static<typeof Trial>;
  /** A change counts at once, on every node; no option needs a restart. */
  live: true;
  secret?: true;
  /** A secret that no `CRYPTO_SECRET` opens: it must be entered again. */
  unreadable?: true;
};

/** What a change did to one option; of a secret only whether it is set. */
export type OptionChanged = { key: string; before: string; after: string };
/** `index` is that of the change in the request; `needs_force`: `force` lets the change through. */
export type OptionFault = { index: number; field: 'key' | 'value'; message: string; rule?: 'needs_force' };

/** `settings.security`: the option decides who gets in, or where a secret or a link goes. */
export type OptionProof = 'settings.security' | 'none';

/** The options and their rules. A change counts on every node, here when it resolves. */
export type SettingsService = {
  list(): Promise<OptionView[]>;
  /** The proof that a change of these options takes: of all that they take, the strictest. */
  proofFor(keys: readonly string[]): OptionProof;
  /**
   * All of the changes or none. `views` are the named options, `changed` those that are another
   * now. `force`: whoever is bound at a provider stays so although its address changes.
   */
  change(
    changes: readonly { key: string; value: string }[],
    how?: { force?: boolean | undefined },
  ): Promise<Result<{ views: OptionView[]; changed: OptionChanged[] }, OptionFault[]>>;
};

/** What came of a trial, step by step; each message is a sentence without any secret. */
export type OptionTestResult = { ok: boolean; steps: { name: string; ok: boolean; message: string }[] };
/**
 * Tries what the options describe; never rejects for what the other side does. `to` and `language`
 * are those of a test mail.
 */
export type OptionTest = (input: { to: string | undefined; language: string }) => Promise<OptionTestResult>;

export type OptionTests = Record<Static<typeof Trial>, OptionTest>;

type OptionRouteDeps = { auth: Auth; options: SettingsService; optionTests: OptionTests; audit: RecordAudit };

/** Options in one request; more of them than exist. */
const MAX_CHANGES = 200;
const change = { key: t.String({ maxLength: 200 }), value: t.String({ maxLength: 100_000 }) };

export function optionRoutes(kit: Kit, { auth, options, optionTests, audit }: OptionRouteDeps) {
  return new Elysia({ normalize: false, tags: ['Options'] })
    .use(kit)
    .get('/api/option', async () => ok(await options.list()), {
      root: true,
      detail: {
        summary: 'All options',
        description:
          'With what a form needs: type, choices, min, max, max_length, max_items, multiline, and by trial what POST /api/option/test can try.',
      },
    })
    .put(
      '/api/option',
      async ({ request, body, panel, origin }) => {
        const { changes, fieldOf } = readChanges(body);
        const proof = options.proofFor(changes.map(({ key }) => key));
        if (proof !== 'none') await auth.proofs.require(panel, readProof(request), proof);
        const done = await options.change(changes, { force: body.force });
        if (!done.ok)
          throw refuse(done.error.map(({ index, field, ...fault }) => ({ ...fault, field: fieldOf(index, field) })));
        for (const { key, before, after } of done.value.changed) {
          await audit({ panel, origin }, { action: 'option.set', target: `option:${key}`, detail: { before, after } });
        }
        return ok(done.value.views);
      },
      {
        root: true,
        bodyLimit: 'options',
        proof: { scope: 'settings.security', when: 'if an option is named whose proof is settings.security' },
        body: strictObject({
          key: t.Optional(change.key),
          value: t.Optional(change.value),
          options: t.Optional(t.Array(strictObject(change), { minItems: 1, maxItems: MAX_CHANGES })),
          force: t.Optional(
            t.Boolean({
              description: 'Take another address of a provider though identities are bound there: they stay.',
            }),
          ),
        }),
        detail: {
          summary: 'Set options',
          description:
            'One as `{key, value}`, or several as `{options: [{key, value}, …]}`: all of them or none. Options whose proof is settings.security take a session and a Security Proof; a personal access token is not enough. Another address, port or TLS mode takes the secret that is sent there again, in the same change. A fault of the rule needs_force is none with force.',
        },
      },
    )
    .post(
      '/api/option/test',
      async ({ request, body: { what, to }, panel, origin }) => {
        // A trial sends a stored secret to the address that is set.
        await auth.proofs.require(panel, readProof(request), 'settings.security');
        const { email, language } = panel.user;
        const result = await optionTests[what]({ to: to ?? email ?? undefined, language });
        await audit({ panel, origin }, { action: 'option.test', target: `option:${what}`, detail: { ok: result.ok } });
        return ok(result);
      },
      {
        root: true,
        critical: true,
        proof: { scope: 'settings.security' },
        body: strictObject({
          what: Trial,
          to: t.Optional(t.String({ maxLength: 320, description: 'Where a test mail goes.' })),
        }),
        detail: { summary: 'Try what the options describe' },
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

function refuse(faults: { field: string; message: string; rule?: OptionFault['rule'] }[]) {
  const [first] = faults;
  return httpErrors.validation_failed({
    message: first?.message,
    param: first?.field,
    details: { errors: faults.map((fault) => ({ rule: 'wrong_value', ...fault })) },
  });
}
