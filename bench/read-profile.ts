import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

type Frame = { functionName: string; url: string };
type Node = { id: number; callFrame: Frame; children?: number[] };

/** A `.cpuprofile`; times are microseconds since 1970. */
export type Profile = { nodes: Node[]; startTime: number; samples: number[]; timeDeltas: number[] };

/** Functions of `bun:sqlite`, where the database or its driver called them. */
const SQLITE = new Set(['all', 'get', 'run', 'values', 'iterate', 'prepare', 'finalize', 'exec']);

export function readProfile(folder: string): Profile {
  const file = readdirSync(folder).find((name) => name.endsWith('.cpuprofile'));
  if (file === undefined) throw new Error('the gateway wrote no profile');
  return JSON.parse(readFileSync(join(folder, file), 'utf8')) as Profile;
}

/**
 * How many samples between two moments (milliseconds since 1970) fell to each place: a room of the
 * source, a package, SQLite, JSON. What the runtime does itself is counted for the code that called
 * it. The profiler takes samples while JavaScript runs, and none while the program waits.
 */
export function countByPlace(profile: Profile, fromMs: number, toMs: number): Map<string, number> {
  const byId = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map<number, Node>();
  for (const node of profile.nodes) for (const child of node.children ?? []) parents.set(child, node);
  const counts = new Map<string, number>();
  let at = profile.startTime;
  for (const [index, id] of profile.samples.entries()) {
    at += profile.timeDeltas[index] ?? 0;
    if (at < fromMs * 1000 || at > toMs * 1000) continue;
    const place = readPlace(byId.get(id), parents);
    counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  return counts;
}

function readPlace(leaf: Node | undefined, parents: Map<number, Node>): string {
  let node = leaf;
  const natives: string[] = [];
  while (node !== undefined) {
    const place = nameFor(node.callFrame.url);
    if (place !== undefined) return refine(place, natives);
    natives.push(node.callFrame.functionName);
    node = parents.get(node.id);
  }
  return 'runtime';
}

function refine(place: string, natives: string[]): string {
  const isStore = place === 'store' || place === 'drizzle-orm';
  if (isStore && natives.some((name) => SQLITE.has(name))) return 'SQLite';
  if (natives.includes('parse') || natives.includes('stringify')) return 'JSON';
  return place;
}

/** A room, or a package; undefined for code of the runtime. */
function nameFor(url: string): string | undefined {
  const [, packageName] = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*\/node_modules\/)/.exec(url) ?? [];
  if (packageName !== undefined) return packageName;
  return /\/src\/([^/.]+)[/.]/.exec(url)?.[1];
}
