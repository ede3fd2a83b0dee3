import { Elysia, t } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import { type Sentence, sentence } from '../../../kernel/index.ts';
import { shownUrl } from '../../../notifications/index.ts';
import type { OptionFault, OptionTrials, SettingsService } from '../../../settings/index.ts';
import { readProof } from '../../pipeline/access-levels.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import { httpErrors } from '../../responses/errors.ts';
import type { RecordAudit } from '../record-audit.ts';

const Trial = t.Union([
  t.Literal('smtp'),
  t.Literal('webhook'),
  t.Literal('oidc'),
  t.Literal('turnstile'),
  t.Literal('wechat'),
  t.Literal('telegram'),
]);

type OptionRouteDeps = { auth: Auth; options: SettingsService; optionTrials: OptionTrials; audit: RecordAudit };

/** Options in one request: more than exist. */
const MAX_CHANGES = 200;
const change = { key: t.String({ maxLength: 200 }), value: t.String({ maxLength: 100_000 }) };

/** The root user reads, changes and tries the options. */
export function optionRoutes(kit: Kit, { auth, options, optionTrials, audit }: OptionRouteDeps) {
  return new Elysia({ normalize: false, tags: ['Settings'] })
    .use(kit)
    .get('/api/option', async () => ok(await options.list()), {
      root: true,
      detail: {
        summary: 'List all settings',
        description:
          'Each with the data for a form: type, choices, min, max, max_length, max_items, multiline, and trial: the name to test it by with POST /api/option/test.',
      },
    })
    .put(
      '/api/option',
      async ({ request, body, panel, origin }) => {
        const { changes, toField } = readChanges(body);
        const proof = options.proofFor(changes.map(({ key }) => key));
        if (proof !== 'none') await auth.proofs.require(panel, readProof(request), proof);
        const done = await options.change(changes, { force: body.force });
        if (!done.ok)
          throw refuse(done.error.map(({ index, field, ...fault }) => ({ ...fault, field: toField(index, field) })));
        for (const { key, before, after } of done.value.changed) {
          // The query of a receiver's address may contain secrets.
          const show = key === 'alerts.webhook_url' ? shownUrl : (value: string) => value;
          const detail = { before: show(before), after: show(after) };
          await audit({ panel, origin }, { action: 'option.set', target: `option:${key}`, detail });
        }
        return ok(done.value.views);
      },
      {
        root: true,
        bodyLimit: 'options',
        documentsProof: { scope: 'settings.security', when: 'if one of the options has the proof settings.security' },
        body: strictObject({
          key: t.Optional(change.key),
          value: t.Optional(change.value),
          options: t.Optional(t.Array(strictObject(change), { minItems: 1, maxItems: MAX_CHANGES })),
          force: t.Optional(
            t.Boolean({
              description: 'Accept another address of a provider although identities are bound there; they stay bound.',
            }),
          ),
        }),
        detail: {
          summary: 'Change settings',
          description:
            'One as `{key, value}`, or several as `{options: [{key, value}, …]}`: all are set or none. Options whose proof is settings.security need a session and a Security Proof; a personal access token is not enough. A new address, port or TLS mode needs the secret that is sent there, in the same change. With force, faults of the rule needs_force are ignored.',
        },
      },
    )
    .post(
      '/api/option/test',
      async ({ request, body: { what, to }, panel, origin }) => {
        // A trial sends a stored secret to the configured address.
        await auth.proofs.require(panel, readProof(request), 'settings.security');
        const { email, language } = panel.user;
        const result = await optionTrials[what]({ to: to ?? email ?? undefined, language });
        await audit({ panel, origin }, { action: 'option.test', target: `option:${what}`, detail: { ok: result.ok } });
        return ok(result);
      },
      {
        root: true,
        critical: true,
        documentsProof: { scope: 'settings.security' },
        body: strictObject({
          what: Trial,
          to: t.Optional(t.String({ maxLength: 320, description: 'The recipient of a test email.' })),
        }),
        detail: { summary: 'Test the mail server, a provider or the captcha' },
      },
    );
}

type ChangeBody = { key?: string; value?: string; options?: { key: string; value: string }[] };

/** Reads both forms of a change. `toField` returns the name of a field as the client sent it. */
function readChanges({ key, value, options }: ChangeBody): {
  changes: { key: string; value: string }[];
  toField: (index: number, field: string) => string;
} {
  if (options !== undefined) {
    if (key !== undefined || value !== undefined) {
      throw refuse([{ field: 'options', ...sentence('http.either_form') }]);
    }
    return { changes: options, toField: (index, field) => `options.${index}.${field}` };
  }
  if (key === undefined) throw refuse([{ field: 'key', ...sentence('http.key_missing') }]);
  if (value === undefined)
    throw refuse([
      { field: 'value', ...sentence('http.field_missing', { name: 'value', wanted: sentence('wanted.text') }) },
    ]);
  return { changes: [{ key, value }], toField: (_index, field) => field };
}

/** Without a reason the catalogue's message would say less. */
const toMessage = ({ message, reason, params = {} }: Partial<Sentence> = {}) =>
  message === undefined || reason === undefined ? message : { message, reason, params };

function refuse(faults: (Omit<OptionFault, 'index' | 'field'> & { field: string })[]) {
  const [first] = faults;
  return httpErrors.validation_failed({
    message: toMessage(first),
    param: first?.field,
    details: { errors: faults.map((fault) => ({ rule: 'wrong_value', ...fault })) },
  });
}
