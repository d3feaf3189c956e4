/**
 * The connections of a pool, shared among tenants. The rule: **a tenant gets another connection only while it has fewer
 * than twice as many as are free.** So a single tenant gets seven of ten, however many it asks for, and two get four
 * each. Work of no tenant, such as checking a credential, takes any free connection. If none is free, it goes first
 * until it has a third, and then waits in turn with the tenants.
 */
import pg from 'pg';
import { tenantNow } from '../flow/working.ts';

type Taken = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  release: (error?: Error | boolean) => void,
) => void;

export class SharedPool extends pg.Pool {
  readonly #max: number;
  readonly #waitMs: number;
  /** How many connections are given out or being opened, and how many of them each tenant has. */
  #inUse = 0;
  readonly #had = new Map<number | undefined, number>();
  readonly #tenants = new WeakMap<pg.PoolClient, number | undefined>();
  /** The waiting callers by tenant (undefined: none), in order of arrival. */
  readonly #waiting = new Map<number | undefined, Set<() => void>>();

  constructor(config: pg.PoolConfig & { max: number; connectionTimeoutMillis: number }) {
    super(config);
    this.#max = config.max;
    this.#waitMs = config.connectionTimeoutMillis;
    this.on('release', (_error, client) => {
      // The pool also releases a connection that was opened too late for its caller.
      if (!this.#tenants.has(client)) return;
      this.#giveBack(this.#tenants.get(client));
      this.#tenants.delete(client);
    });
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(taken: Taken): void;
  override connect(taken?: Taken): unknown {
    if (!taken)
      return new Promise<pg.PoolClient>((resolve, reject) => {
        this.connect((error, client) => (client ? resolve(client) : reject(error)));
      });
    const tenant = tenantNow();
    if (this.#mayTake(tenant)) this.#take(tenant, taken);
    else this.#wait(tenant, taken);
    return undefined;
  }

  #wait(tenant: number | undefined, taken: Taken): void {
    const waiting = this.#waiting.get(tenant) ?? new Set();
    this.#waiting.set(tenant, waiting);
    const leave = () => {
      clearTimeout(late);
      waiting.delete(enter);
      if (waiting.size === 0) this.#waiting.delete(tenant);
    };
    const enter = () => {
      leave();
      this.#take(tenant, taken);
    };
    const late = setTimeout(() => {
      leave();
      // The same message as the pool's own.
      taken(new Error('timeout exceeded when trying to connect'), undefined, () => {});
    }, this.#waitMs).unref();
    waiting.add(enter);
  }

  #hadBy(tenant: number | undefined): number {
    return this.#had.get(tenant) ?? 0;
  }

  #mayTake(tenant: number | undefined): boolean {
    const free = this.#max - this.#inUse;
    return tenant === undefined ? free > 0 : this.#hadBy(tenant) < 2 * free;
  }

  /** The lowest rank goes first: work of no tenant, which serves many, until it has a third; then the fewest. */
  #rankOf(tenant: number | undefined): number {
    const had = this.#hadBy(tenant);
    return tenant === undefined && had < this.#max / 3 ? -1 : had;
  }

  #count(tenant: number | undefined, change: 1 | -1): void {
    this.#inUse += change;
    const had = this.#hadBy(tenant) + change;
    if (had > 0) this.#had.set(tenant, had);
    else this.#had.delete(tenant);
  }

  #take(tenant: number | undefined, taken: Taken): void {
    this.#count(tenant, 1);
    super.connect((error, client, release) => {
      if (client) this.#tenants.set(client, tenant);
      else this.#giveBack(tenant);
      taken(error, client, release);
    });
  }

  #giveBack(tenant: number | undefined): void {
    this.#count(tenant, -1);
    // The connection is idle only after this turn of the pool: before, another one would be opened.
    queueMicrotask(() => this.#admit());
  }

  /** Admits the callers that may now take a connection. */
  #admit(): void {
    for (;;) {
      const [next] = [...this.#waiting]
        .filter(([tenant]) => this.#mayTake(tenant))
        .sort(([one], [other]) => this.#rankOf(one) - this.#rankOf(other));
      const [enter] = next?.[1] ?? [];
      if (!enter) return;
      enter();
    }
  }
}
