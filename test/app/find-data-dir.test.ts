import { expect, test } from 'bun:test';
import { findDataDir } from '../../src/app/config/find-data-dir.ts';

const linux = (environment: Record<string, string>, hasLocal = false) =>
  findDataDir({ environment, platform: 'linux', hasLocal });

test('data that lies in the current folder stays there', () => {
  expect(linux({ HOME: '/home/ada', XDG_DATA_HOME: '/data' }, true)).toBe('./data');
});

test.each([
  ['linux', { HOME: '/home/ada' }, '/home/ada/.local/share/taskgate'],
  ['linux', { HOME: '/home/ada', XDG_DATA_HOME: '/mnt/data' }, '/mnt/data/taskgate'],
  ['linux', { HOME: '/home/ada', XDG_DATA_HOME: 'relative' }, '/home/ada/.local/share/taskgate'],
  ['linux', {}, './data'],
  ['darwin', { HOME: '/Users/ada' }, '/Users/ada/Library/Application Support/Taskgate'],
  ['win32', { LOCALAPPDATA: 'C:\\Users\\ada\\AppData\\Local' }, 'C:\\Users\\ada\\AppData\\Local\\Taskgate'],
  ['win32', {}, './data'],
] as const)('on %s with %j it is %s', (platform, environment, folder) => {
  expect(findDataDir({ environment, platform, hasLocal: false })).toBe(folder);
});
