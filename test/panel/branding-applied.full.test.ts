/** The operator's looks: colour, logo, notice and name, and the panel as an app. */
import { expect, test } from 'bun:test';
import { ask, ROOT } from '../support/gateway.ts';
import { makePng } from '../support/still-images.ts';
import { findPageIssues, heading, screens, usePanel, waitForText } from './harness.ts';

const panel = usePanel();

test('name, colour, logo and notice are everywhere, and the panel can be installed', async () => {
  const logo = `data:image/png;base64,${makePng({ width: 64, height: 64 }).toString('base64')}`;
  const set = (key: string, value: string) => panel.root().call('PUT', '/api/option', { key, value });
  await set('SystemName', 'Film works');
  await set('branding.logo', logo);
  await set('branding.accent', '#ffcc00');
  await set('branding.notice', 'Down on **Sunday**. [Details](https://status.example.org) <img src=x>');
  const { page } = await panel.openAs(ROOT, '/', { viewport: screens.desktop });
  const note = page.getByRole('note', { name: 'Notice from the operator' });
  await note.getByRole('link', { name: 'Details' }).waitFor();
  await waitForText(page, '<img src=x>');
  await waitForText(page, 'Film works');
  await note.getByRole('button', { name: 'Dismiss notice' }).click();
  await note.waitFor({ state: 'detached' });
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
  expect(await note.count()).toBe(0);
  await set('branding.notice', 'Up again.');
  await page.reload();
  await note.getByText('Up again.').waitFor();
  await page.goto(`${panel.origin()}/settings/branding`);
  await heading(page, 'Settings').waitFor();
  await page.getByRole('img', { name: 'Logo' }).waitFor();
  expect(await findPageIssues(page)).toEqual([]);

  const at = `http://127.0.0.1:${new URL(panel.origin()).port}`;
  const manifest = (await (await fetch(`${at}/manifest.webmanifest`)).json()) as {
    name: string;
    icons: { src: string; sizes: string; purpose?: string }[];
  };
  expect(manifest.name).toBe('Film works');
  expect(await page.locator('link[rel="icon"]').getAttribute('href')).toBe(manifest.icons[0]?.src ?? '');
  for (const { src } of manifest.icons) {
    const answer = await fetch(`${at}${src}`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/png']);
  }
  const picture = await fetch(`${at}${manifest.icons[0]?.src}`);
  expect(picture.headers.get('content-security-policy')).toContain("default-src 'none'");

  await set('branding.logo', '');
  const built = (await (await fetch(`${at}/manifest.webmanifest`)).json()) as typeof manifest;
  expect(built.icons.map(({ sizes, purpose }) => [sizes, purpose])).toEqual([
    ['192x192', undefined],
    ['512x512', undefined],
    ['512x512', 'maskable'],
  ]);
  expect((await ask(`${at}/api/branding/logo`)).status).toBe(404);
});
