import type { Route } from '../rest/route.ts';
import { deviceRoutes } from './device-rest.ts';

export { pairingRoutes, pairingsPath } from './device-rest.ts';

export const routes: Route[] = [...deviceRoutes];
