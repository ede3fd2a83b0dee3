import { Elysia, t } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
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
          email: t.Optional(t.String({ maxLength: 320, description: 'Required if mail addresses must be confirmed.' })),
          verification_code: t.Optional(t.String({ maxLength: 64, description: 'The code mailed to this address.' })),
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
          summary: 'Email the verification code of a new account',
          description: 'The response is the same whether or not the address has an account; only the mail tells.',
        },
      },
    )
    .get('/api/user/aff', async ({ panel }) => ok(await auth.registration.affiliateCode(panel)), {
      user: true,
      detail: { summary: 'Get your invitation code; the first request creates it' },
    });
}

/** The captcha token in the body. 2048 characters is Turnstile's own limit. */
export const challengeField = {
  turnstile: t.Optional(t.String({ maxLength: 2048, description: 'The captcha token, if a captcha is configured.' })),
};

/** Reads the captcha token from the body, otherwise from `?turnstile=`. */
export const readChallengeToken = (body: { turnstile?: string }, request: Request): string | undefined =>
  body.turnstile ?? new URL(request.url).searchParams.get('turnstile') ?? undefined;
