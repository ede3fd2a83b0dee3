import type { Route } from '../../../contracts/v1.d.ts';
import { reservedBy, routeParams, routeShape } from '../routes/route-paths.ts';
import { type FaultList, pointer } from './faults.ts';

/** Rules of `meta.routes` beyond the schema: parameters, reserved paths, uniqueness. */
export function checkRoutes(routes: readonly Route[], list: FaultList): void {
  const shapes = new Map<string, number>();
  for (const [index, route] of routes.entries()) {
    const at = pointer('routes', index);
    if (!list.clean(pointer('routes', index, 'path'))) continue;
    checkPath(route, at, list);
    if (!list.clean(pointer('routes', index, 'method'))) continue;
    const shape = `${route.method} ${routeShape(route.path)}`;
    const other = shapes.get(shape);
    if (other !== undefined) {
      list.add(`${at}/path`, 'route.unique', `has the same method and shape as route ${other} (${shape})`);
    }
    shapes.set(shape, index);
  }
}

function checkPath(route: Route, at: string, list: FaultList): void {
  const reserved = reservedBy(route.path);
  if (reserved) {
    list.add(
      `${at}/path`,
      'route.reserved',
      `reaches into "${reserved}", which is the gateway's own`,
      'Begin with a segment of your own, such as "/acme/v1".',
    );
  }
  const params = routeParams(route.path);
  if (new Set(params).size < params.length) {
    list.add(`${at}/path`, 'route.path.params', 'names a path parameter twice');
  }
  if (route.type !== 'query' || !list.clean(`${at}/taskIdParam`)) return;
  const param = route.taskIdParam ?? 'task_id';
  if (!params.includes(param)) {
    list.add(
      `${at}/path`,
      'route.path.task_id',
      `a query route's path must contain ":${param}"`,
      'Or name another parameter in taskIdParam.',
    );
  }
}
