import { expect, test } from 'bun:test';
import { parseAuthorization } from '../../src/auth/principals.ts';
import { createRefreshTokens, formatRefreshToken, parseRefreshToken } from '../../src/auth/tokens/refresh-tokens.ts';
import { deriveSessionKeys } from '../../src/auth/tokens/session-keys.ts';
import type { SessionRecord } from '../../src/store/ports/index.ts';

const tokens = createRefreshTokens(deriveSessionKeys(['one']));
const sessionWith = (refreshHash: string, previousRefreshHash: string | null = null): SessionRecord => ({
  sid: 'ignored',
  userId: 1,
  version: 1,
  userAuthVersion: 1,
  status: 'active',
  refreshHash,
  previousRefreshHash,
  previousValidUntil: 0,
  loginMethod: 'password',
  ip: '',
  addressKey: '',
  userAgent: '',
  createdAt: 0,
  lastActiveAt: 0,
  expiresAt: 0,
  revokedAt: 0,
  revokedReason: '',
});

test('ASVS 7.2.3: a refresh secret has more than 128 random bits and never repeats', () => {
  const secrets = new Set(Array.from({ length: 1000 }, () => tokens.create().secret));
  expect(secrets.size).toBe(1000);
  for (const secret of secrets) expect(secret).toMatch(/^[A-Za-z0-9]{64}$/);
});

test('a token survives formatting and parsing, and nothing else parses as one', () => {
  const token = tokens.create();
  expect(parseRefreshToken(formatRefreshToken(token))).toEqual({ sid: token.sid, secret: token.secret });
  const { sid, secret } = token;
  const malformed = [
    undefined,
    '',
    '.',
    sid,
    secret,
    `${sid}.`,
    `.${secret}`,
    `${sid}.${secret}.`,
    `${sid}.${secret}.x`,
    `${sid}.${secret.slice(1)}`,
    `${sid}.${secret}x`,
    `${sid.toUpperCase()}.${secret}`,
    ` ${sid}.${secret}`,
    `${sid}.${secret.slice(0, 63)}-`,
    `not-a-uuid.${secret}`,
    `${sid}:${secret}`,
  ];
  for (const value of malformed) expect(parseRefreshToken(value)).toBeUndefined();
});

test('the successor is the same on every node, differs for every token, and does not reveal its parent', () => {
  const token = tokens.create();
  const node = createRefreshTokens(deriveSessionKeys(['one']));
  expect(node.successor(token)).toEqual(tokens.successor(token));
  expect(tokens.successor(token).secret).toMatch(/^[0-9a-f]{64}$/);
  expect(tokens.successor({ ...token, sid: tokens.create().sid }).secret).not.toBe(tokens.successor(token).secret);
  expect(createRefreshTokens(deriveSessionKeys(['two'])).successor(token).secret).not.toBe(
    tokens.successor(token).secret,
  );
});

test('generations are distinguished by digest, also by padded ones', () => {
  const first = tokens.create();
  const second = tokens.successor(first);
  const third = tokens.successor(second);
  const session = sessionWith(`${second.hash}   `, ` ${first.hash} `);
  expect(tokens.generation(session, second.secret)).toBe('current');
  expect(tokens.generation(session, first.secret)).toBe('previous');
  expect(tokens.generation(session, third.secret)).toBe('unknown');
  expect(tokens.generation(sessionWith(second.hash), first.secret)).toBe('unknown');
  expect(tokens.takenSuccessor(session, first)).toEqual({ sid: first.sid, secret: second.secret });
  expect(tokens.takenSuccessor(sessionWith(third.hash, first.hash), first)).toBeUndefined();
});

test('during a rotation, a node with both secrets accepts sessions of either', () => {
  const old = createRefreshTokens(deriveSessionKeys(['one']));
  const both = createRefreshTokens(deriveSessionKeys(['two', 'one']));
  const first = old.create();
  expect(both.generation(sessionWith(first.hash), first.secret)).toBe('current');
  const taken = sessionWith(old.successor(first).hash, first.hash);
  expect(both.takenSuccessor(taken, first)?.secret).toBe(old.successor(first).secret);
  const takenByNew = sessionWith(both.successor(first).hash, first.hash);
  expect(old.takenSuccessor(takenByNew, first)).toBeUndefined();
});

test('an Authorization header is "Bearer" and one word, or one bare word', () => {
  for (const [header, credential] of [
    ['Bearer abc', 'abc'],
    ['bearer abc', 'abc'],
    ['BEARER   abc ', 'abc'],
    ['abc', 'abc'],
    ['  abc  ', 'abc'],
  ] as const) {
    expect(parseAuthorization(header)).toBe(credential);
  }
  for (const header of [undefined, '', '  ', 'Bearer', 'bearer ', 'Basic abc', 'Bearer a b', 'a b c']) {
    expect(parseAuthorization(header)).toBeUndefined();
  }
});
