/**
 * Owns: configuration, logging, the composition of all rooms, the order of start and shutdown, the
 * command line. May touch: everything. Never touches: business rules. Only `main.ts` imports this
 * room; commands load their modules lazily.
 *
 * A start goes through `cli/commands/serve.ts` → `cli/run-gateway.ts` (signals) →
 * `composition/start-gateway.ts` (foundation, shutdown) → `compose-gateway.ts` (order of the
 * services) → `compose-services.ts`, `compose-tasks.ts`, `compose-http.ts` (each room's
 * dependencies).
 *
 * - `cli/`: commands, by groups; `commands/` has one module for each, loaded when it is called.
 *   `client/`: how `run`, `get` and `login` call a gateway, wait and download; `plugin-dev/`: what
 *   authors of plugins run.
 * - `config/`: environment variables, by groups, and what rooms take of them and of options.
 * - `composition/`: which room gets what, and in which order all start and stop.
 * - `telemetry/`: what the rooms do as metrics and traces.
 * - `demo-vendor/`: a vendor for trying the gateway without an account.
 * - `desktop/`: a start by a double-click.
 */
export { runCli } from './cli/run-cli.ts';
