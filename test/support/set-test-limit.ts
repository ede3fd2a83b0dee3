/** Runs before each file of tests: see `bunfig.toml`. */
import { setDefaultTimeout } from 'bun:test';
import { TEST_LIMIT_MS } from './far-limits.ts';

setDefaultTimeout(TEST_LIMIT_MS);
