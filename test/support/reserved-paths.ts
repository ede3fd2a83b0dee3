import { findLaterHostRoute, reservedAtFirst } from '../../src/plugins/manifest/route-paths.ts';

/** The reserved namespace or path of the gateway that a pattern could match, if any. */
export const reservedBy = (path: string): string | undefined => reservedAtFirst(path) ?? findLaterHostRoute(path);
