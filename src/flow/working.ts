/** The tenant for which the running code works. AsyncLocalStorage passes it on to everything that this code starts. */
import { AsyncLocalStorage } from 'node:async_hooks';

const working = new AsyncLocalStorage<number | undefined>();

/** @param mandatorId undefined for work for several tenants, even if one of them happens to start it */
export const workFor = <T>(mandatorId: number | undefined, work: () => T): T => working.run(mandatorId, work);

/** The tenant for which the running code works; undefined for several, or none. */
export const tenantNow = (): number | undefined => working.getStore();
