/**
 * The connections of a pool, shared among tenants. The rule: **a tenant takes one more connection only while it has fewer than twice
 * as many as are free.** So one alone gets seven of ten, however much it asks for, and two get four each. Work of no tenant, such as
 * checking a credential, takes any that is free. Where none is, it goes first until it has a third, and otherwise waits in turn with the tenants.
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
  /** Of each tenant, and of none, those that wait, in order of arrival. */
  readonly #waiting = new Map<number | undefined, Set<() => void>>();

  constructor(config: pg.PoolConfig & { max: number; connectionTimeoutMillis: number }) {
    super(config);
    this.#max = config.max;
    this.#waitMs = config.connectionTimeoutMillis;
    this.on('release', (_error, client) => {
      // The pool also releases a connection that was opened too late for who had asked.
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
      // The words of the pool itself.
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

  /** The least goes first: work of no tenant, which is that of many, until it has a third, and then whoever has the fewest. */
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

  /** Lets in who may now take a connection. */
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
