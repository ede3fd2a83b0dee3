import { version } from '../../package.json';

/** The product's version, from package.json at build time. */
export const VERSION: string = version;

declare const BUILD_TARGET: string;

/** The platform that the executable was built for, as releases name it; empty from source. */
export const TARGET: string = typeof BUILD_TARGET === 'undefined' ? '' : BUILD_TARGET;
