import { embedScript } from '../panel-files/embed-script.ts' with { type: 'macro' };

/** What the API reference runs in a browser. */
export const DOCS_SCRIPT = embedScript('reference/reference.ts');
