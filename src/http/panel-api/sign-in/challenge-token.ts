import { t } from 'elysia';

/** The captcha token in the body. 2048 characters is Turnstile's own limit. */
export const challengeField = {
  turnstile: t.Optional(t.String({ maxLength: 2048, description: 'The captcha token, if a captcha is configured.' })),
};

/** Reads the captcha token from the body, otherwise from `?turnstile=`. */
export const readChallengeToken = (body: { turnstile?: string }, request: Request): string | undefined =>
  body.turnstile ?? new URL(request.url).searchParams.get('turnstile') ?? undefined;
