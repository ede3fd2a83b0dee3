import { Elysia, t } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import { type ProofNeed, readProof } from '../../pipeline/access-levels.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import type { RecordAudit } from '../record-audit.ts';

const mailAddress = t.String({ minLength: 1, maxLength: 320 });

/** People create accounts, and invite others with an affiliate code. */
export function registrationRoutes(kit: Kit, { auth, audit }: { auth: Auth; audit: RecordAudit }) {
  return new Elysia({ normalize: false, tags: ['Registration'] })
    .use(kit)
    .post(
      '/api/user/register',
      async ({ body, request, origin }) => {
        const registered = await auth.registration.register({
          username: body.username,
          password: body.password,
          email: body.email,
          verificationCode: body.verification_code,
          affCode: body.aff_code,
          challengeToken: readChallengeToken(body, request),
          acceptLanguage: request.headers.get('accept-language') ?? undefined,
          origin,
        });
        const { userId, username } = registered;
        await audit(
          { registered, origin },
          { action: 'user.register', target: `user:${userId}`, detail: { username } },
        );
        return ok({ username });
      },
      {
        public: true,
        critical: true,
        body: strictObject({
          username: t.String({ minLength: 1, maxLength: 200 }),
          password: t.String({ minLength: 1, maxLength: 1000, description: '8 to 128 characters.' }),
          email: t.Optional(
            t.String({ maxLength: 320, description: 'Required if email addresses must be confirmed.' }),
          ),
          verification_code: t.Optional(t.String({ maxLength: 64, description: 'The code emailed to this address.' })),
          aff_code: t.Optional(
            t.String({ maxLength: 64, description: 'The affiliate code of the user who invited you.' }),
          ),
          ...challengeField,
        }),
        detail: { summary: 'Create an account; sign in afterwards' },
      },
    )
    .post(
      '/api/verification',
      async ({ body, request, origin }) => {
        await auth.registration.sendVerification({
          email: body.email,
          challengeToken: readChallengeToken(body, request),
          acceptLanguage: request.headers.get('accept-language') ?? undefined,
          origin,
        });
        return ok(null);
      },
      {
        public: true,
        critical: true,
        body: strictObject({ email: mailAddress, ...challengeField }),
        detail: {
          summary: "Email a new account's verification code",
          description: 'The response is the same whether or not the address has an account; only the email says which.',
        },
      },
    )
    .get('/api/user/aff', async ({ panel }) => ok(await auth.registration.affiliateCode(panel)), {
      user: true,
      detail: { summary: 'Get your invitation code; the first request creates it' },
    });
}

/** The captcha token in the body. 2048 characters is Turnstile's own limit. */
const challengeField = {
  turnstile: t.Optional(t.String({ maxLength: 2048, description: 'The captcha token, if a captcha is configured.' })),
};

/** Reads the captcha token from the body, otherwise from `?turnstile=`. */
const readChallengeToken = (body: { turnstile?: string }, request: Request): string | undefined =>
  body.turnstile ?? new URL(request.url).searchParams.get('turnstile') ?? undefined;

const ADDRESS_PROOF: ProofNeed = {
  scope: 'account.email',
  when: 'if the account has a password, a passkey or two-factor',
};

/**
 * Mailed codes and links: resetting a password, and binding the email address of a signed-in user.
 */
export function mailCodeRoutes(kit: Kit, { auth, audit }: { auth: Auth; audit: RecordAudit }) {
  return new Elysia({ normalize: false, tags: ['Mail'] })
    .use(kit)
    .post(
      '/api/reset_password',
      async ({ body, request, origin }) => {
        await auth.passwords.byMail.request({
          email: body.email,
          challengeToken: readChallengeToken(body, request),
          acceptLanguage: request.headers.get('accept-language') ?? undefined,
          origin,
        });
        return ok(null);
      },
      {
        public: true,
        critical: true,
        body: strictObject({ email: mailAddress, ...challengeField }),
        detail: {
          summary: 'Email a link to choose a new password',
          description: 'The response is the same whether or not the address has an account.',
        },
      },
    )
    .post(
      '/api/user/reset',
      async ({ body, request, origin }) => {
        const mailedLink = await auth.passwords.byMail.finish({
          ...body,
          acceptLanguage: request.headers.get('accept-language') ?? undefined,
          origin,
        });
        const target = `user:${mailedLink.userId}`;
        await audit({ mailedLink, origin }, { action: 'user.password_reset', target, detail: {} });
        return ok(null);
      },
      {
        public: true,
        critical: true,
        body: strictObject({
          email: mailAddress,
          token: t.String({ minLength: 1, maxLength: 200, description: 'From the link.' }),
          password: t.String({ minLength: 1, maxLength: 1000, description: '8 to 128 characters.' }),
        }),
        detail: {
          summary: 'Set a new password; all sessions end',
          description: 'Does not sign in. A second factor stays and is required at the next sign-in.',
        },
      },
    )
    .post(
      '/api/user/email/code',
      async ({ panel, body, origin }) => {
        await auth.mail.address.sendCode(panel, { email: body.email, origin });
        return ok(null);
      },
      {
        session: true,
        critical: true,
        body: strictObject({ email: mailAddress }),
        detail: { summary: 'Email a code to an address you want to add' },
      },
    )
    .post(
      '/api/oauth/email/bind',
      async ({ request, panel, origin, body }) => {
        const bound = await auth.mail.address.bind(panel, { ...body, proof: readProof(request) });
        await audit(
          { panel, origin },
          {
            action: 'user.email_bind',
            target: `user:${panel.user.id}`,
            detail: { before: panel.user.email, after: bound.email },
          },
        );
        return ok(bound);
      },
      {
        session: true,
        critical: true,
        documentsProof: ADDRESS_PROOF,
        body: strictObject({ email: mailAddress, code: t.String({ minLength: 1, maxLength: 64 }) }),
        detail: { summary: 'Add the confirmed address; the previous one is notified' },
      },
    )
    .delete(
      '/api/user/email',
      async ({ request, panel, origin }) => {
        await auth.mail.address.unbind(panel, { proof: readProof(request) });
        await audit(
          { panel, origin },
          {
            action: 'user.email_unbind',
            target: `user:${panel.user.id}`,
            detail: { before: panel.user.email, after: null },
          },
        );
        return ok(null);
      },
      {
        session: true,
        critical: true,
        documentsProof: ADDRESS_PROOF,
        detail: { summary: 'Remove your email address; it is notified' },
      },
    );
}
