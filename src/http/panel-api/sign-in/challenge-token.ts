import { t } from 'elysia';

/**
 * The answer to the challenge of the page, where one is set up: a field of the body. Its length is
 * the verifier's own limit.
 */
export const challengeField = {
  turnstile: t.Optional(t.String({ maxLength: 2048, description: 'Token of the challenge, where one is set up.' })),
};

/** From the body, else from `?turnstile=`. */
export const readChallengeToken = (body: { turnstile?: string }, request: Request): string | undefined =>
  body.turnstile ?? new URL(request.url).searchParams.get('turnstile') ?? undefined;
