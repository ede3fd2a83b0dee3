import { addresses } from './addresses.ts';
import type { Row } from './base.ts';
import { display } from './display.ts';
import { hidden } from './hidden.ts';
import { identity } from './identity.ts';
import { protocols } from './protocols.ts';
import { routeRows } from './routes.ts';
import { usage } from './usage.ts';

const rows: readonly Row[] = [...identity, ...hidden, ...display, ...addresses, ...protocols, ...routeRows, ...usage];

/** Manifests that break one rule each, in JSON as a plugin's module gives it. */
export const invalid = rows.flatMap(([name, meta, fault]) => (fault === undefined ? [] : [{ name, meta, fault }]));
export const valid = rows.flatMap(([name, meta, fault]) => (fault === undefined ? [{ name, meta }] : []));
