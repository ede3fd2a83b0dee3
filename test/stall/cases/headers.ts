import { Elysia } from 'elysia';
import { pickLanguage } from '../../../src/auth/mail/mail-languages.ts';
import { MAX_CHARACTERS, readAssertion } from '../../../src/auth/messengers/sign-in-with-telegram.ts';
import { parseAuthorization } from '../../../src/auth/principals.ts';
import { MAX_SOURCE, parsePriceExpression } from '../../../src/billing/parse-price.ts';
import { mediaType } from '../../../src/http/bodies/read-body.ts';
import { MAX_PART_HEADER_BYTES, readPartHeader } from '../../../src/http/bodies/read-part-header.ts';
import { createSessionCookies } from '../../../src/http/panel-api/sign-in/session-cookies.ts';
import { createClientAddresses } from '../../../src/http/pipeline/client-ip.ts';
import { hasLoopbackHost } from '../../../src/http/pipeline/guard-host.ts';
import { guardOrigin } from '../../../src/http/pipeline/guard-origin.ts';
import { matchesEntityTag, sanitizeMessage, systemClock } from '../../../src/kernel/index.ts';
import { readRanges } from '../../../src/results/serving/byte-ranges.ts';
import { redactText } from '../../../src/telemetry/logging/redact-fields.ts';
import { fill, stallCase } from '../measure-block.ts';

const KIB = 1024;
/** The limit of the runtime for all headers of a request together. */
const HEADER_BYTES = 32 * KIB;
const BY_RUNTIME = 'the runtime, which takes 32 KiB of headers';

const proxies = ['127.0.0.1', '10.0.0.0/8', '::1'];
const addresses = createClientAddresses({ trustedProxies: proxies, decidingProxies: proxies, clock: systemClock });

const sessionCookies = createSessionCookies({ secure: false });
const withCookies = new Elysia().get('/', ({ cookie }) => sessionCookies.read(cookie) ?? '');

export const headerCases = [
  stallCase({
    name: 'Cookie',
    limit: HEADER_BYTES,
    worst: (size) => ({
      semicolons: fill(';', size),
      names: Array.from({ length: size / 8 }, (_, i) => `a${i}=b`).join('; '),
      'equals signs': fill('=', size),
      escapes: fill('%41', size, { before: 'svc_refresh=' }),
      'broken escapes': fill('%', size, { before: 'svc_refresh=' }),
      brackets: fill('[', size, { before: 'svc_refresh=' }),
      'empty objects': fill('{},', size, { before: 'svc_refresh=[', after: '{}]' }),
      spaces: fill(' ', size, { before: 'svc_refresh=', after: 'a' }),
      digits: fill('9', size, { before: 'svc_refresh=' }),
    }),
    call: (cookie: string) => withCookies.handle(new Request('http://a/', { headers: { cookie } })),
    limitedBy: BY_RUNTIME,
  }),
  stallCase({
    name: 'Content-Type and Host',
    limit: HEADER_BYTES,
    worst: (size) => ({
      spaces: fill(' ', size, { before: 'a', after: 'b' }),
      parameters: fill(';a=b', size, { before: 'a/b' }),
      dots: fill('a.', size),
      colons: fill(':', size),
      brackets: fill('[', size),
      signs: fill('@', size),
    }),
    call: (text: string) => [
      mediaType(new Headers({ 'content-type': text })),
      hasLoopbackHost(new Request('http://a/', { headers: { host: text } })),
    ],
    limitedBy: BY_RUNTIME,
  }),
  stallCase({
    name: 'X-Forwarded-For',
    limit: HEADER_BYTES,
    worst: (size) => ({
      'trusted proxies': fill('10.0.0.1,', size),
      'other proxies each': Array.from({ length: size / 12 }, (_, i) => `10.0.${i >> 8}.${i & 255}`).join(),
      'other addresses each': Array.from({ length: size / 22 }, (_, i) => `[::ffff:10.1.${i >> 8}.${i & 255}]`).join(),
      'mapped addresses': fill('::ffff:10.0.0.1,', size),
      colons: fill(':', size),
      groups: fill('1:', size),
      dots: fill('1.', size),
      brackets: fill('[', size),
      commas: fill(',', size),
    }),
    call: (text: string) => addresses.read('127.0.0.1', text),
    limitedBy: BY_RUNTIME,
  }),
  stallCase({
    name: 'If-None-Match',
    limit: HEADER_BYTES,
    worst: (size) => ({
      tags: fill('"a",', size),
      'weak marks': fill('W/', size),
      commas: fill(',', size),
      spaces: fill(' ', size, { before: 'W/', after: '"' }),
      'spaced tags': fill(' W/ ,', size),
      stars: fill('*', size),
    }),
    call: (header: string) => matchesEntityTag(header, 'W/"0123456789abcdef"'),
    limitedBy: BY_RUNTIME,
  }),
  stallCase({
    name: 'Range',
    limit: HEADER_BYTES,
    worst: (size) => ({
      ranges: fill('0-1,', size, { before: 'bytes=' }),
      'open ranges': fill('0-,', size, { before: 'bytes=' }),
      commas: fill(',', size, { before: 'bytes=' }),
      digits: fill('9', size, { before: 'bytes=', after: '-' }),
      spaces: fill(' ', size, { before: 'bytes', after: '=0-1' }),
      dashes: fill('-', size, { before: 'bytes=' }),
    }),
    call: (header: string) => readRanges(header, 1_000_000),
    limitedBy: BY_RUNTIME,
  }),
  stallCase({
    name: 'Authorization',
    limit: HEADER_BYTES,
    worst: (size) => ({
      spaces: fill(' ', size, { before: 'Bearer', after: 'x' }),
      words: fill('a ', size),
      tabs: fill('\t', size, { before: 'a', after: 'b' }),
    }),
    call: parseAuthorization,
    limitedBy: BY_RUNTIME,
  }),
  stallCase({
    name: 'Accept-Language',
    limit: HEADER_BYTES,
    worst: (size) => ({
      spaces: fill(' ', size),
      tags: fill('aa,', size),
      spaced: fill(' a,', size),
      long: fill('a', size),
    }),
    call: pickLanguage,
    limitedBy: BY_RUNTIME,
  }),
  stallCase({
    name: 'Referer',
    limit: HEADER_BYTES,
    worst: (size) => ({
      commas: fill(',http', size, { before: 'http://a' }),
      slashes: fill('/', size, { before: 'http://a' }),
      dots: fill('.', size, { before: 'http://' }),
    }),
    call: (referer: string) =>
      guardOrigin(new Headers({ host: 'a', referer }), { trustedOrigins: ['https://b'], secure: true, tls: false }),
    limitedBy: BY_RUNTIME,
  }),
  stallCase({
    name: 'header of a part of a form',
    limit: MAX_PART_HEADER_BYTES / 2,
    worst: (size) => ({
      spaces: fill(' ', size - 40, { before: 'form-data; name="a"', after: ';' }),
      'spaces behind a sign': fill('\t', size - 40, { before: 'form-data; name=', after: '"' }),
      parameters: fill(';a=', size - 40, { before: 'form-data' }),
      backslashes: fill('\\', size - 40, { before: 'form-data; name="' }),
      quotes: fill('"', size - 40, { before: 'form-data; name=' }),
      escapes: fill('%22', size - 40, { before: 'form-data; name="', after: '"' }),
      'extended name': fill("'", size - 60, { before: "form-data; name=a; filename*=utf-8''" }),
    }),
    call: (text: string) => readPartHeader({ 'content-disposition': [text] }),
    refuses: (answer) => answer instanceof Error && answer.message.includes('too long'),
  }),
  stallCase({
    name: 'signed parameters of Telegram',
    limit: MAX_CHARACTERS,
    worst: (size) => ({
      parameters: fill('a=&', size),
      'one long': fill('a', size, { before: 'hash=' }),
      names: Array.from({ length: size / 8 }, (_, i) => `a${i}=b`).join('&'),
    }),
    call: (text: string) => readAssertion(new URLSearchParams(text), '1:token', 0),
    refuses: (answer) => (answer as { ok: boolean }).ok === false,
  }),
  stallCase({
    name: 'price expression',
    limit: MAX_SOURCE,
    worst: (size) => ({
      sum: fill('1+', size, { before: '', after: '1' }),
      parentheses: fill('(', size),
      arrows: fill('a=>', size, { before: '', after: 'a' }),
      'arrows or parentheses': fill('(a=(', size),
      templates: fill('`${', size),
      choices: fill('1?1:', size, { before: '', after: '1' }),
      arguments: fill('1,', size, { before: 'min(', after: '1)' }),
      'named groups': `/${Array.from({ length: size / 10 }, (_, i) => `(?<a${i}>)`)
        .join('')
        .slice(0, size - 2)}/`,
      labels: fill('a:', size),
      calls: fill('min(', size),
      classes: fill('class extends ', size),
    }),
    call: (text: string) => {
      const price = parsePriceExpression(text);
      return price.ok ? price.value.evaluate({ facts: {}, model: 'm', action: 'a' } as never) : price;
    },
    refuses: (answer) => JSON.stringify(answer).includes('longer than'),
  }),
  stallCase({
    name: 'text of a log line',
    limit: 512 * KIB,
    worst: (size) => ({
      ...Object.fromEntries(
        [
          'a',
          '://a',
          'a://',
          'eyJ0000000000.',
          'sk-',
          'Bearer ',
          'access=',
          '?token=',
          ' ',
          '_token',
          '\nparams: ',
        ].map((unit) => [JSON.stringify(unit), fill(unit, size)]),
      ),
    }),
    call: redactText,
    limitedBy: 'the texts that rooms log, of which bodies are not part',
  }),
  stallCase({
    name: 'message of a plugin or a vendor',
    limit: 512 * KIB,
    worst: (size) => ({
      controls: fill('\u0001', size),
      mixed: fill('a\u0001', size),
      spaces: fill(' ', size),
      pairs: fill('😀', size),
    }),
    call: sanitizeMessage,
    limitedBy: 'the size of the answer that it stands in',
  }),
];
