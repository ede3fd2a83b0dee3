import { embedScript } from '../panel-files/embed-script.ts' with { type: 'macro' };

/** What the page of `taskgate plugin dev` runs in a browser. */
export const DEVELOPMENT_SCRIPT = embedScript('development/development.ts');
