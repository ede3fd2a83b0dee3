import type { Page } from 'playwright-core';
import type { TextKey } from '../../../src/panel/i18n/texts.ts';
import type { Filled } from '../fill-gateway.ts';

/** Who looks: somebody who is not signed in, a user with a second factor, or root. */
export type Viewer = 'nobody' | 'member' | 'root';

/** A gateway before its set-up, after it, and after weeks of work. */
export type Age = 'new' | 'empty' | 'filled';

export type Scene = {
  page: Page;
  /** A text of the panel in the language that is looked at. */
  text(key: TextKey, params?: Readonly<Record<string, string>>): string;
  filled: Filled;
};

/** One page of the panel in one state. */
export type PanelState = {
  name: string;
  /** As in `app-routes.tsx`, where that is not the path. */
  path: string | ((filled: Filled) => string);
  age?: Age;
  viewer?: Viewer;
  /** Before the page is opened, such as an answer that fails. */
  before?(scene: Scene): Promise<unknown>;
  /** What is done on the page. */
  act?(scene: Scene): Promise<unknown>;
  /** On phones only, or everywhere else only. */
  only?: 'phone' | 'wide';
  /** A picture has the window alone: what is out of sight is not drawn. */
  isWindow?: true;
};

type Step = (scene: Scene) => Promise<unknown>;

/** Presses the first button of this name. */
export const press =
  (key: TextKey, params?: Readonly<Record<string, string>>): Step =>
  ({ page, text }) =>
    page
      .getByRole('button', { name: text(key, params), exact: true })
      .first()
      .click();

export const inOrder =
  (...steps: Step[]): Step =>
  async (scene) => {
    for (const step of steps) await step(scene);
  };

export const dialogOpens: Step = ({ page }) => page.getByRole('dialog').last().waitFor();

/** Presses an entry of the page's menu, which asks first. */
export const fromMenu =
  (key: TextKey): Step =>
  async (scene) => {
    const { page, text } = scene;
    await page.getByRole('button', { name: text('app.more'), exact: true }).click();
    await page.getByRole('menuitem', { name: text(key), exact: true }).click();
    await dialogOpens(scene);
  };
