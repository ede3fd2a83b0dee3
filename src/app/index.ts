/**
 * Owns: configuration, logging, the wiring of all rooms, start and stop order, the command line.
 * May touch: everything. Never touches: business rules. Only `main.ts` imports this room; commands
 * load what they need lazily.
 */
export { runCli } from './run-cli.ts';
