import { expect, test } from 'bun:test';
import { browserCommand, type Platform } from '../../src/app/desktop/open-browser.ts';

const ADDRESS = 'http://localhost:3000/setup#token=a&b';
const command = (platform: Partial<Platform>) =>
  browserCommand(ADDRESS, { environment: {}, platform: 'linux', pid: 7, isContainer: false, ...platform });

test.each([
  ['linux', { DISPLAY: ':0' }, ['xdg-open', ADDRESS]],
  ['linux', { WAYLAND_DISPLAY: 'wayland-0' }, ['xdg-open', ADDRESS]],
  ['darwin', {}, ['open', ADDRESS]],
  // No shell: it would take the "&" for its own.
  ['win32', {}, ['rundll32', 'url.dll,FileProtocolHandler', ADDRESS]],
] as const)('a desktop on %s opens it', (platform, environment, expected) => {
  expect(command({ platform, environment })).toEqual([...expected]);
});

test.each([
  ['without a desktop', {}],
  ['over SSH', { environment: { DISPLAY: ':10', SSH_CONNECTION: '10.0.0.1 1 10.0.0.2 22' } }],
  ['as a service of systemd', { environment: { DISPLAY: ':0', SYSTEMD_EXEC_PID: '7' } }],
  ['in a container of Docker', { environment: { DISPLAY: ':0' }, isContainer: true }],
  ['in a container of systemd or podman', { environment: { DISPLAY: ':0', container: 'podman' } }],
  ['over SSH to a Mac', { platform: 'darwin', environment: { SSH_CONNECTION: 'x' } }],
] as const)('nothing is opened %s', (_, platform) => {
  expect(command(platform)).toBeUndefined();
});

test('a program that systemd started for a desktop is not taken for a service', () => {
  expect(command({ environment: { DISPLAY: ':0', SYSTEMD_EXEC_PID: '1234' } })).toBeDefined();
});
