import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Type } from 'typescript/unstable/async';
import { root } from './hash-inputs.ts';
import { readTypes, type TypeReader } from './read-types.ts';

const path = 'src/http/openapi/panel-answers.gen.json';

/** Members of a route's type that are HTTP methods. */
const METHODS = new Set(['get', 'post', 'put', 'patch', 'delete']);

/** The framework's own refusal of a body; the gateway answers in its own form. */
const REFUSED = '422';

type Answers = Record<string, object>;

/**
 * Writes the JSON Schemas of what the panel's routes answer, read from the types of their handlers,
 * or with `--check` says whether the file is current (exit 1 when not):
 * `bun scripts/print-panel-answers.ts [--check]`.
 */
async function main(args: readonly string[]): Promise<number> {
  const wanted = await printPanelAnswers();
  if (!args.includes('--check')) {
    writeFileSync(join(root, path), wanted);
    return 0;
  }
  if (readFileSync(join(root, path), 'utf8') === wanted) return 0;
  console.error(`${path} is out of date: run bun scripts/print-panel-answers.ts`);
  return 1;
}

async function printPanelAnswers(): Promise<string> {
  return readTypes(root, async (reader) => {
    const routes = await reader.find(await reader.declared('src/http/app.ts', 'Routes'), '~Routes');
    if (!routes) throw new Error('There are no routes.');
    const answers: Answers = {};
    await readRoutes({ reader, answers }, routes, '');
    return `{"schemas": ${printLines(reader.schemas())}, "answers": ${printLines(answers)}}\n`;
  });
}

/** A line each, so that a change of the interface is a line of the diff. */
function printLines(schemas: Record<string, object>): string {
  const sorted = Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{\n${sorted.map(([name, schema]) => `${JSON.stringify(name)}: ${JSON.stringify(schema)}`).join(',\n')}\n}`;
}

type Walk = { reader: TypeReader; answers: Answers };

/** Adds each route's answers in JSON: `get /api/token/{id}` → status → schema. */
async function readRoutes(walk: Walk, type: Type, at: string): Promise<void> {
  for (const [name, member] of await walk.reader.members(type)) {
    const response = METHODS.has(name) ? await walk.reader.find(member, 'response') : undefined;
    if (!response) {
      await readRoutes(walk, member, `${at}/${name.replace(/^:(.+)$/, '{$1}')}`);
      continue;
    }
    const schemas: Record<string, object> = {};
    for (const [status, answer] of await walk.reader.members(response)) {
      const schema = status === REFUSED ? undefined : await walk.reader.schemaFor(answer);
      if (schema) schemas[status] = schema;
    }
    if (Object.keys(schemas).length > 0) walk.answers[`${name} ${at}`] = schemas;
  }
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));
