/**
 * Several hosts in one URL (`postgres://user:password@a:5432,b:5432/database`), as libpq takes them with
 * `target_session_attrs=primary`; the driver knows only one. The host that takes writes is used. A connection that cannot be
 * opened, or leads to a standby, fails as in any outage, and the next attempt goes to the next host.
 */
import pg from 'pg';
import { codeOf } from '../flow/database-errors.ts';
import { hostsOf, serversOf } from '../flow/database-urls.ts';

/** By servers, the index of the one that is considered the primary. */
const places = new Map<string, number>();

/** Has the SQLSTATE of a server that does not take connections yet, so that callers treat it as an outage and try again. */
const isStandby = () => Object.assign(new Error('the host is a standby'), { code: '57P03' });

/** The driver's error for a missing or empty password. */
const wantsPassword = ({ message }: Error) => /^SASL: .*client password must be/.test(message);

/** Has the SQLSTATE of a refused password. */
const noPassword = () =>
  Object.assign(new Error('the server asks for a password, and neither the URL nor PGPASSWORD has one'), {
    code: '28P01',
  });

/** SQLSTATEs that mean something else for connections than for statements: no right to connect, a closed database. */
const ofConnections: Readonly<Record<string, string>> = { '42501': '28000', '55000': '57P03' };

/**
 * How values are written and read, whatever the role or the database has been given. PgBouncer passes on these parameters, unlike
 * most others. They are spelled as PostgreSQL reports them: otherwise PgBouncer would set them again before each transaction.
 */
const startupParameters = { DateStyle: 'ISO, MDY', TimeZone: 'UTC', standard_conforming_strings: 'on' };

/** The process ids of the sessions that this process has. */
const sessions = new Set<number>();
export const ownSessions = (): number[] => [...sessions];

/** A client at the host that takes writes. */
export class PrimaryClient extends pg.Client {
  readonly #servers: string;
  readonly #hosts: readonly string[];
  readonly #place: number;
  #inStandby = false;

  constructor(config: pg.ClientConfig = {}) {
    const { connectionString = '' } = config;
    const hosts = hostsOf(connectionString);
    const servers = serversOf(connectionString);
    const place = places.get(servers) ?? 0;
    super(hosts.length === 1 ? config : { ...config, connectionString: hosts[place] ?? connectionString });
    this.#servers = servers;
    this.#hosts = hosts;
    this.#place = place;
    if (hosts.length > 1)
      this.connection.on('parameterStatus', ({ parameterName, parameterValue }) => {
        if (parameterName === 'in_hot_standby') this.#inStandby = parameterValue === 'on';
      });
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): unknown {
    if (!callback)
      return new Promise<pg.Client>((resolve, reject) => {
        this.connect((error?: Error) => (error ? reject(error) : resolve(this)));
      });
    // Called back at once, as the driver does: a pool listens for errors only then, and one may follow in the same packet.
    super.connect((error?: Error) => {
      if (!error) this.#noteSession();
      (callback as (error?: Error) => void)(this.#faultOf(error));
    });
    return undefined;
  }

  /** The driver calls it for the first message. */
  protected getStartupConf(): object {
    const { getStartupConf } = pg.Client.prototype as unknown as { getStartupConf(this: pg.Client): object };
    return { ...getStartupConf.call(this), ...startupParameters };
  }

  #noteSession(): void {
    const { processID } = this as unknown as { processID: number };
    sessions.add(processID);
    this.once('end', () => sessions.delete(processID));
  }

  /** What is wrong with a connection that has been tried; the next one then goes to the next host. */
  #faultOf(error: Error | undefined): Error | undefined {
    if (!error && !this.#inStandby) return undefined;
    this.#goOn();
    if (!error) {
      this.end().catch(() => {});
      return isStandby();
    }
    // If the driver itself gives up, it leaves the connection open: the process would wait until PostgreSQL ends it.
    this.connection.stream.destroy();
    if (wantsPassword(error)) return noPassword();
    const code = ofConnections[codeOf(error)];
    return code === undefined ? error : Object.assign(error, { code });
  }

  /** Lets the next connection try the next host, unless another connection has already moved on. */
  #goOn(): void {
    const { length } = this.#hosts;
    if ((places.get(this.#servers) ?? 0) === this.#place) places.set(this.#servers, (this.#place + 1) % length);
  }
}
