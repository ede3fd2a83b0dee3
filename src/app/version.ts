import { version } from '../../package.json';

/** The product's version, from package.json at build time. */
export const VERSION: string = version;
