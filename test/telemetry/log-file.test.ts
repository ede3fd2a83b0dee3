/** LOG_FILE: what stands in it after rotation, a signal, a full disk and a stop. */
import { afterEach, describe, expect, test } from 'bun:test';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { openLogFile } from '../../src/telemetry/logging/log-file.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const line = (text: string) => Buffer.from(`${text}\n`);
const read = (path: string) => readFileSync(path, 'utf8');

describe('the file', () => {
  const open = (keep = 2) => {
    const folder = join(temporaryFolder(), 'made/too');
    return {
      folder,
      path: join(folder, 'gate.log'),
      file: openLogFile({ path: join(folder, 'gate.log'), maxBytes: 12, keep }),
    };
  };

  test('belongs to its owner alone, with its folder', () => {
    const { folder, path, file } = open();
    file.write(line('one'));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  test('is renamed before it grows too large, and the oldest are deleted', () => {
    const { folder, path, file } = open();
    for (let number = 1; number <= 7; number += 1) file.write(line(`line${number}`));
    expect(readdirSync(folder).sort()).toEqual(['gate.log', 'gate.log.1', 'gate.log.2']);
    expect([read(path), read(`${path}.1`), read(`${path}.2`)]).toEqual(['line7\n', 'line5\nline6\n', 'line3\nline4\n']);
  });

  test('files of a time when more were kept are deleted', () => {
    const { folder, path, file } = open();
    mkdirSync(folder, { recursive: true });
    for (let number = 1; number <= 5; number += 1) writeFileSync(`${path}.${number}`, `old ${number}`);
    // Nobody has named this one so.
    writeFileSync(`${path}.9`, 'mine');
    for (let number = 1; number <= 3; number += 1) file.write(line(`line${number}`));
    expect(readdirSync(folder).sort()).toEqual(['gate.log', 'gate.log.1', 'gate.log.2', 'gate.log.9']);
    expect([read(`${path}.1`), read(`${path}.2`)]).toEqual(['line1\nline2\n', 'old 1']);
  });

  test('starts over where none is kept', () => {
    const { folder, path, file } = open(0);
    for (let number = 1; number <= 3; number += 1) file.write(line(`line${number}`));
    expect(readdirSync(folder)).toEqual(['gate.log']);
    expect(read(path)).toBe('line3\n');
  });

  test('is renamed before the first line of another day, also of one that ended before this process began', () => {
    const path = join(temporaryFolder(), 'gate.log');
    const nightfall = new Date(2026, 2, 1, 23, 59, 59).getTime();
    let nowMs = nightfall;
    const open = () => openLogFile({ path, maxBytes: 1000, keep: 9, daily: { nowMs: () => nowMs } });
    const file = open();
    file.write(line('evening'));
    // A line that was torn is not spread over two files.
    file.write(Buffer.from('half '));
    nowMs += 2000;
    file.write(line('of it'));
    file.write(line('morning'));
    expect([read(path), read(`${path}.1`)]).toEqual(['morning\n', 'evening\nhalf of it\n']);
    utimesSync(path, nowMs / 1000, nowMs / 1000);
    open().write(line('noon'));
    utimesSync(path, nowMs / 1000, nowMs / 1000);
    nowMs += 86_400_000;
    open().write(line('tomorrow'));
    expect([read(path), read(`${path}.1`)]).toEqual(['tomorrow\n', 'morning\nnoon\n']);
    expect(existsSync(`${path}.3`)).toBe(false);
  });

  test('is not renamed again by a clock that is set back over midnight, nor kept for a year by one set ahead', () => {
    const path = join(temporaryFolder(), 'gate.log');
    const midnight = new Date(2026, 2, 2).getTime();
    let nowMs = midnight + 5000;
    const file = openLogFile({ path, maxBytes: 1000, keep: 9, daily: { nowMs: () => nowMs } });
    for (const byMs of [0, -31_000, 31_000, -8 * 3_600_000, 8 * 3_600_000]) {
      nowMs += byMs;
      file.write(line('one'));
    }
    expect(existsSync(`${path}.1`)).toBe(false);
    nowMs += 365 * 86_400_000;
    file.write(line('wrong'));
    nowMs -= 365 * 86_400_000;
    file.write(line('right'));
    expect([read(path), read(`${path}.1`)]).toEqual(['right\n', 'wrong\n']);
  });

  test('goes on where an earlier process ended, within the same limit', () => {
    const { path, file } = open();
    file.write(line('line1'));
    const later = openLogFile({ path, maxBytes: 12, keep: 2 });
    later.write(line('line2'));
    later.write(line('line3'));
    expect([read(path), read(`${path}.1`)]).toEqual(['line3\n', 'line1\nline2\n']);
  });

  test('is recreated when others have renamed it or deleted its folder', () => {
    const { folder, path, file } = open();
    file.write(line('one'));
    renameSync(path, `${path}.old`);
    file.write(line('two'));
    expect([read(path), read(`${path}.old`)]).toEqual(['two\n', 'one\n']);
    rmSync(folder, { recursive: true });
    file.write(line('three'));
    expect(read(path)).toBe('three\n');
  });

  test('begins a line after one whose end went elsewhere', () => {
    const { path, file } = open();
    file.write(Buffer.from('half'));
    file.breakLine();
    file.write(line('next'));
    expect(read(path)).toBe('half\nnext\n');
  });
});

describe('a gateway', () => {
  const running: Gateway[] = [];
  afterEach(async () => {
    for (const gateway of running.splice(0)) await gateway.kill();
  });
  const start = async (path: string, prefix: string[] = []) => {
    const gateway = await startGateway({ env: { LOG_FILE: path }, prefix });
    running.push(gateway);
    return gateway;
  };
  const request = (gateway: Gateway, id: string) =>
    fetch(`${gateway.url}/livez`, { headers: { 'x-request-id': id } }).then((answer) => answer.text());
  const has = (path: string, text: string) =>
    until(`${text} is in ${path}`, () => existsSync(path) && read(path).includes(text));

  test('writes everything to the file and nothing to standard error', async () => {
    const path = join(temporaryFolder(), 'gate.log');
    const gateway = await start(path);
    await request(gateway, 'before-the-signal');
    await has(path, 'before-the-signal');
    renameSync(path, `${path}.1`);
    gateway.signal('SIGHUP');
    await until('the file is recreated', () => statSync(path, { throwIfNoEntry: false }));
    await request(gateway, 'after-the-signal');
    expect(await gateway.stop()).toBe(0);
    expect(gateway.log()).toBe('');
    expect(read(path)).toContain('after-the-signal');
    expect(read(path).trimEnd().split('\n').at(-1)).toContain('"stopped"');
    for (const each of (read(`${path}.1`) + read(path)).trimEnd().split('\n')) JSON.parse(each);
  });

  test('goes on with lines on standard error while the file cannot be written', async () => {
    const folder = join(temporaryFolder(), 'logs');
    const path = join(folder, 'gate.log');
    mkdirSync(folder);
    const gateway = await start(path);
    await request(gateway, 'while-it-is-there');
    await has(path, 'while-it-is-there');
    rmSync(folder, { recursive: true });
    writeFileSync(folder, 'in the way');
    await request(gateway, 'while-it-is-gone');
    await gateway.logged('while-it-is-gone');
    rmSync(folder);
    await request(gateway, 'once-it-is-back');
    await has(path, 'once-it-is-back');
    const errors = gateway.log().trimEnd().split('\n');
    expect(errors.filter((each) => each.includes('the log file cannot be written'))).toHaveLength(1);
    expect(await gateway.stop()).toBe(0);
  });

  test.skipIf(process.platform !== 'linux')('survives a full disk', async () => {
    // A device that is always full.
    const gateway = await start('/dev/full');
    await request(gateway, 'on-a-full-disk');
    await gateway.logged('on-a-full-disk');
    expect(gateway.log()).toContain('"reason":"ENOSPC"');
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
    expect(await gateway.stop()).toBe(0);
    expect(gateway.log()).toContain('"stopped"');
  });
});
