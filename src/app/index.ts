/**
 * Owns: configuration, logging, the composition of all rooms, the order of start and shutdown, the
 * command line. May touch: everything. Never touches: business rules. Only `main.ts` imports this
 * room; commands load their modules lazily.
 */
export { runCli } from './cli/run-cli.ts';
