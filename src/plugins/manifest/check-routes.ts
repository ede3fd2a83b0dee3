import { isObject } from '../../kernel/index.ts';
import { reservedBy, routeParams, routeShape } from '../routes/route-paths.ts';
import { type FaultList, pointer } from './faults.ts';

/** Checks the rules of `meta.routes` beyond the schema: parameters, reserved paths, uniqueness. */
export function checkRoutes(routes: readonly unknown[], list: FaultList): void {
  const shapes = new Map<string, number>();
  for (const [index, route] of routes.entries()) {
    const at = pointer('routes', index);
    if (!isObject(route) || typeof route.path !== 'string' || !list.clean(`${at}/path`)) continue;
    checkPath(route.path, `${at}/path`, list);
    checkTaskIdParam({ ...route, path: route.path }, at, list);
    if (!list.clean(`${at}/method`)) continue;
    const shape = `${String(route.method)} ${routeShape(route.path)}`;
    const other = shapes.get(shape);
    if (other === undefined) shapes.set(shape, index);
    else list.add(`${at}/path`, 'route.unique', `has the same method and shape as route ${other} (${shape})`);
  }
}

function checkPath(path: string, at: string, list: FaultList): void {
  const reserved = reservedBy(path);
  if (reserved) list.add(at, 'route.reserved', `reaches into "${reserved}", which is the gateway's own`);
  const params = routeParams(path);
  if (new Set(params).size < params.length) list.add(at, 'route.path.params', 'names a path parameter twice');
}

function checkTaskIdParam(route: Record<string, unknown> & { path: string }, at: string, list: FaultList): void {
  if (route.type !== 'query' || !list.clean(`${at}/taskIdParam`)) return;
  const param = String(route.taskIdParam ?? 'task_id');
  if (!routeParams(route.path).includes(param)) {
    list.add(`${at}/path`, 'route.path.task_id', `a query route's path must contain ":${param}"`);
  }
}
