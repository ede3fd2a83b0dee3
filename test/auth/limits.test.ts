import { describe, expect, test } from 'bun:test';
import { createGuessLimit } from '../../src/auth/limits/limit-guesses.ts';
import { addressKey, createRequestLimit } from '../../src/auth/limits/limit-requests.ts';
import { createMemoryCounters } from '../../src/store/index.ts';
import { at } from '../support/deciding-ip.ts';
import { refusal } from './refusal.ts';

const right = async () => 'right' as const;
const wrong = async () => undefined;

describe('the limit of requests', () => {
  test('allows the given number and tells the rest how long to wait', async () => {
    const limit = createRequestLimit(createMemoryCounters(), { name: 'critical', limit: 3, windowSeconds: 1200 });
    for (let i = 0; i < 3; i += 1) await limit(at('203.0.113.7'));
    const error = await refusal(limit(at('203.0.113.7')), 'auth.rate_limited');
    expect(error.kind).toBe('rate_limited');
    expect(error.retryAfterSeconds).toBeWithin(1100, 1201);
    await limit(at('203.0.113.8'));
  });

  test('limits of different names count apart', async () => {
    const counters = createMemoryCounters();
    const [a, b] = ['a', 'b'].map((name) => createRequestLimit(counters, { name, limit: 1, windowSeconds: 60 }));
    await a?.(at('203.0.113.7'));
    await b?.(at('203.0.113.7'));
  });

  test('an attacker with a whole IPv6 network counts as one address', async () => {
    const limit = createRequestLimit(createMemoryCounters(), { name: 'critical', limit: 1, windowSeconds: 60 });
    await limit(at('2001:db8:1:2::1'));
    await refusal(limit(at('2001:db8:1:2:ffff::1')), 'auth.rate_limited');
    await limit(at('2001:db8:1:3::1'));
  });

  test('IPv4 written inside IPv6 is the IPv4 address', () => {
    expect(addressKey(at('::ffff:203.0.113.7'))).toBe('203.0.113.7');
    expect(addressKey(at('2001:db8:1:2:3:4:5:6'))).toBe('2001:db8:1:2::/64');
    expect(addressKey(at('not an address'))).toBe('not an address');
  });
});

describe('the limit of guesses', () => {
  test('after five failures for an account from one address, no attempt is made', async () => {
    const guess = createGuessLimit(createMemoryCounters());
    for (let i = 0; i < 5; i += 1) expect(await guess('alice', at('203.0.113.7'), wrong)).toBeUndefined();
    let attempts = 0;
    const attempt = async () => {
      attempts += 1;
      return 'right';
    };
    const error = await refusal(guess('alice', at('203.0.113.7'), attempt), 'auth.too_many_attempts');
    expect(error.retryAfterSeconds).toBeWithin(800, 901);
    expect(attempts).toBe(0);
  });

  test('malicious lock-out: failures of one address never lock the account for another', async () => {
    const guess = createGuessLimit(createMemoryCounters());
    for (let i = 0; i < 5; i += 1) await guess('alice', at('203.0.113.7'), wrong);
    await refusal(guess('alice', at('203.0.113.7'), right), 'auth.too_many_attempts');
    expect(await guess('alice', at('203.0.113.8'), right)).toBe('right');
  });

  test('password spraying: fifty failures over many accounts stop the address', async () => {
    const guess = createGuessLimit(createMemoryCounters());
    for (let i = 0; i < 50; i += 1) await guess(`account-${i}`, at('203.0.113.7'), wrong);
    const error = await refusal(guess('account-new', at('203.0.113.7'), right), 'auth.too_many_attempts');
    expect(error.retryAfterSeconds).toBeWithin(3500, 3601);
    expect(await guess('account-new', at('203.0.113.8'), right)).toBe('right');
  });

  test('successes do not count', async () => {
    const guess = createGuessLimit(createMemoryCounters());
    for (let i = 0; i < 200; i += 1) expect(await guess('alice', at('203.0.113.7'), right)).toBe('right');
  });

  test('an error during an attempt does not count as a failure', async () => {
    const guess = createGuessLimit(createMemoryCounters());
    const broken = () => Promise.reject(new Error('the store is unavailable'));
    for (let i = 0; i < 10; i += 1)
      await expect(guess('alice', at('203.0.113.7'), broken)).rejects.toThrow('unavailable');
    expect(await guess('alice', at('203.0.113.7'), right)).toBe('right');
  });

  test('a burst of guesses at once gets five attempts, not more', async () => {
    const guess = createGuessLimit(createMemoryCounters());
    let attempts = 0;
    const attempt = async () => {
      attempts += 1;
      await Bun.sleep(2);
      return undefined;
    };
    const outcomes = await Promise.allSettled(
      Array.from({ length: 100 }, () => guess('alice', at('203.0.113.7'), attempt)),
    );
    expect(attempts).toBe(5);
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(95);
  });

  test('honest sign-ins at the same time all pass', async () => {
    const guess = createGuessLimit(createMemoryCounters());
    const slow = async () => {
      await Bun.sleep(1);
      return 'right';
    };
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => guess('alice', at('203.0.113.7'), slow)));
    expect(new Set(outcomes)).toEqual(new Set(['right']));
  });
});
