/** How an authority verifies that a name leads here: RFC 8555 section 8.3, and RFC 8737. */
export type ChallengeType = 'http-01' | 'tls-alpn-01';

export type Challenge = { name: string; token: string; keyAuthorization: string };

/** Serves the answer to a challenge until the returned function is called. */
export type AnswerChallenge = (challenge: Challenge) => Promise<() => Promise<void>>;
