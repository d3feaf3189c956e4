/** For which tenant the running code works: AsyncLocalStorage carries it to everything that this code starts. */
import { AsyncLocalStorage } from 'node:async_hooks';

const working = new AsyncLocalStorage<number | undefined>();

/** @param mandatorId undefined for what may work for several tenants, whichever of them happens to start it */
export const workFor = <T>(mandatorId: number | undefined, work: () => T): T => working.run(mandatorId, work);

/** The tenant for which the running code works; undefined for several, or none. */
export const tenantNow = (): number | undefined => working.getStore();
