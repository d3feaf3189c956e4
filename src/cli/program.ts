/** The commands of the command line. */
import { Command, CommanderError } from 'commander';
import { addCommands as addCells } from '../cells/cli.ts';
import { examineRests } from '../cells/service.ts';
import { type Config, ConfigError, ownRoot, wrongPepper } from '../config.ts';
import { type Context, version } from '../context.ts';
import * as demo from '../demo/cli.ts';
import { addCommands as addDisplays } from '../displays/cli.ts';
import { DomainError } from '../errors.ts';
import { type Finding, findingsOf } from '../finding.ts';
import { isOutage, isRefusal, isSchemaMissing, isUnwritable, refusalOf } from '../flow/database-errors.ts';
import { takesPins } from '../http/schemes.ts';
import { addCommands as addIdentity } from '../identity/cli.ts';
import * as identity from '../identity/service.ts';
import { addCommands as addLessons } from '../lessons/cli.ts';
import { examineBatches, examineSpool } from '../lessons/service.ts';
import { withoutSecrets } from '../log.ts';
import { addCommands as addMail } from '../mail/cli.ts';
import { examineMail } from '../mail/service.ts';
import { printedJson } from '../printing.ts';
import { addCommands as addTenants } from '../tenants/cli.ts';
import { getOnlyTenant } from '../tenants/service.ts';
import { addCommands as addWebhooks } from '../webhooks/cli.ts';
import { examineWebhooks } from '../webhooks/service.ts';
import { connect, type RemoteAction, reach, type SignIn } from './client.ts';
import { type Action, CommandFailed, type Output, tenantOption } from './command.ts';
import { credentialOf, needsToken } from './credential.ts';
import { type Patient, runDoctor } from './doctor.ts';
import { addMigrate, type Migrating } from './migrating.ts';
import { openOutput, tell } from './output.ts';
import { addRecovery, type Keeper } from './recovery.ts';

/** The services of main.js for the commands. */
export type Host = Patient &
  Migrating &
  Keeper & {
    /** The settings as written. @throws ConfigError */
    config(): Config;
    /** Opens the context of a command; without DatabaseUrl it starts or joins the local PostgreSQL. */
    open(): Promise<{ context: Context; close(): Promise<void> }>;
    /**
     * Runs the server until it is told to stop.
     * @param started called once it is ready; `local` tells that it uses the local PostgreSQL
     */
    serve(started: (context: Context, local: boolean) => Promise<void>): Promise<void>;
  };

const exitCodes = { failed: 1, usage: 2, settings: 78 } as const;

const outputOf = (program: Command): Output => openOutput(program.opts()['json'] === true);

const leavesOutTenant = (command: Command) =>
  command.options.some(({ description }) => description === tenantOption().description) &&
  command.getOptionValue('mandator') === undefined;

/**
 * @example
 * process.exitCode = await runProgram(createProgram(host), process.argv);
 */
export function createProgram(host: Host): Command {
  const program = new Command('roomgate');

  async function insistOn(isRight: Promise<boolean>): Promise<void> {
    if (!(await isRight)) throw new ConfigError(wrongPepper);
  }

  /** @throws ConfigError when the Pepper is not that of the database */
  async function openRight() {
    const opened = await host.open();
    try {
      await insistOn(identity.hasRightPepper(opened.context));
      return opened;
    } catch (error) {
      await opened.close();
      throw error;
    }
  }

  const action: Action =
    (work, { makesSecrets } = { makesSecrets: false }) =>
    async (...args) => {
      const { context, close } = await openRight();
      try {
        if (makesSecrets) await insistOn(identity.claimPepper(context));
        const command = args.at(-1);
        if (command instanceof Command && leavesOutTenant(command))
          command.setOptionValue('mandator', await getOnlyTenant(context.db));
        await work({ ...outputOf(program), context }, ...args);
      } finally {
        await close();
      }
    };

  const remoteAction: RemoteAction =
    (work) =>
    async (...args) => {
      const afterwards = new AsyncDisposableStack();
      let opened: Promise<Context> | undefined;
      /** Opens the database once, to fill in what the caller has left out. */
      const open = () =>
        (opened ??= openRight().then(({ context, close }) => {
          afterwards.defer(close);
          return context;
        }));
      async function makePin(mandator: string): Promise<string> {
        const context = await open();
        await insistOn(identity.claimPepper(context));
        const temporary = await identity.createTemporaryPin(context, mandator);
        afterwards.defer(temporary.remove);
        return temporary.pin;
      }
      async function tenantOf({ mandator, pin, token, baseUrl }: SignIn): Promise<string> {
        if (mandator) return mandator;
        const name = 'Name the tenant with --mandator CODE';
        if (baseUrl) throw new CommandFailed(`${name}: the database of this machine may not be that of --base-url.`);
        const context = await open().catch((error: Error) => {
          // A caller with a credential needs the database only to find the tenant.
          throw pin || token
            ? new CommandFailed(`${name}, or make sure that it can be looked up: ${describeError(error).message}`)
            : error;
        });
        return await getOnlyTenant(context.db);
      }
      async function credential(config: Config, idpUrl: string, mandator: string, { pin, token }: SignIn) {
        if (token) return { token };
        if (!pin && !takesPins(config)) throw needsToken(config);
        return credentialOf(config, idpUrl, pin || (await makePin(mandator)));
      }
      async function signIn(options: SignIn) {
        const config = host.config();
        const given = options.baseUrl?.replace(/\/+$/, '');
        if (given && !/^https?:$/.test(URL.parse(given)?.protocol ?? ''))
          throw new CommandFailed(`--base-url ${given} is not an http or https URL.`);
        const idpUrl = given ?? config.IdpUrl;
        await reach(idpUrl);
        const mandator = await tenantOf(options);
        return connect({
          baseUrl: given ?? config.BaseUrl,
          mandator,
          credential: await credential(config, idpUrl, mandator, options),
        });
      }
      try {
        await work({ ...outputOf(program), signIn }, ...args);
      } finally {
        await afterwards.disposeAsync();
      }
    };

  program
    .description('Room booking service: REST and GraphQL over one PostgreSQL.')
    .version(version)
    .option('--json', 'machine-readable output, and errors as {"Error":{"Code","Message"}}')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ outputError: () => {} })
    .exitOverride()
    .addHelpText('after', 'Example:\n  $ roomgate serve\n\nEvery command has its own help: roomgate import --help')
    .addHelpText('beforeAll', ({ command }) => {
      // Commander shows the help of all commands for one that it does not know; without --help it refuses that one.
      const [first = '', second = ''] = command.args;
      const name = first === 'help' ? second : first;
      if (command.commands.length > 0 && /^[^-]/.test(name)) command.parse([name], { from: 'user' });
      return '';
    });

  program
    .command('serve')
    .description('run the server and, unless Role=Web, the worker, until SIGTERM or Ctrl-C')
    .addHelpText('after', 'Example:\n  $ Port=18080 roomgate serve')
    .action(() =>
      host.serve(async (context, local) => {
        const afterwards = new AsyncDisposableStack();
        async function makePin(mandator: string): Promise<string> {
          const temporary = await identity.createTemporaryPin(context, mandator, 'demo timetable');
          afterwards.defer(temporary.remove);
          return temporary.pin;
        }
        const own = ownRoot(context.config);
        try {
          await demo.welcome(context, local, {
            ...outputOf(program),
            ownRoot: own,
            async signIn(mandator, pin) {
              // Not through the public URLs, which this machine may not reach.
              const credential = credentialOf(context.config, own, pin ?? (await makePin(mandator)));
              return connect({ baseUrl: own, mandator, credential });
            },
          });
        } finally {
          await afterwards.disposeAsync();
        }
      }),
    );

  addMigrate(program, { ...host, output: () => outputOf(program) });
  const { hasRightPepper, forgetPepper } = identity;
  addRecovery(program, { ...host, hasRightPepper, forgetPepper, version, output: () => outputOf(program) });

  addTenants(program, action);
  addIdentity(program, action);
  addDisplays(program, action);
  addLessons(program, remoteAction);
  addMail(program, action);
  addWebhooks(program, action);
  addCells(program, action);

  /** The findings of the host on the database, and of the rooms on its content if that can be read. */
  async function diagnose(context: Context): Promise<Finding[]> {
    const findings = [...(await host.diagnose(context)), await examineSpool()];
    const isReadable = findings.every(
      ({ check, level }) => level !== 'fault' || !['Database', 'Migrations'].includes(check),
    );
    if (!isReadable) return findings;
    return [
      ...findings,
      ...(await examineBatches(context.db)),
      ...(await findingsOf('Moves', () => examineRests(context.db))),
      ...(await identity.examinePepper(context)),
      ...(await examineMail(context)),
      ...(await examineWebhooks(context)),
    ];
  }

  program
    .command('doctor')
    .description('check settings, database, queue, server and mail servers; exit code 1 if there is a fault')
    .addHelpText('after', 'Example:\n  $ roomgate doctor')
    .action(() => runDoctor({ ...host, diagnose }, outputOf(program)));

  return program;
}

/** The code, message and exit code of an error. */
function describeError(error: unknown): { code: string; message: string; exitCode: number } {
  if (error instanceof ConfigError) return { code: 'Settings', message: error.message, exitCode: exitCodes.settings };
  if (error instanceof CommanderError)
    return { code: 'Usage', message: error.message.replace(/^error: /, ''), exitCode: exitCodes.usage };
  if (error instanceof CommandFailed) return { code: 'Failed', message: error.message, exitCode: exitCodes.failed };
  if (error instanceof DomainError) return { code: error.code, message: error.message, exitCode: exitCodes.failed };
  const { message, code } = error as { message?: string; code?: string };
  if (isUnwritable(error))
    return {
      code: 'Unavailable',
      message: `The database answers, but does not accept writes (${message}): free space on its disk, or name the primary in DatabaseUrl if this is a standby.`,
      exitCode: exitCodes.failed,
    };
  if (isRefusal(error)) return { code: 'Settings', message: refusalOf(error), exitCode: exitCodes.settings };
  if (isOutage(error))
    return {
      code: 'Unavailable',
      message: `The database does not answer (${message || code}); is it running, and is DatabaseUrl right?`,
      exitCode: exitCodes.failed,
    };
  if (isSchemaMissing(error))
    return {
      code: 'Unavailable',
      message: 'The database schema is not current: run "roomgate migrate".',
      exitCode: exitCodes.failed,
    };
  return { code: 'InternalError', message: message || String(error), exitCode: exitCodes.failed };
}

/**
 * Runs the command in `argv` and returns the exit code: 0, 1 for an error or a failed result, 2 for a wrong command line, 78
 * for unusable settings. Errors are written to standard error.
 * @param delivered waits until all that was printed is written, and throws when it is lost
 */
export async function runProgram(
  program: Command,
  argv: readonly string[],
  delivered: () => Promise<void> = async () => {},
): Promise<number> {
  try {
    await program.parseAsync(argv).catch((error: unknown) => {
      // Such as help that was asked for.
      if (!(error instanceof CommanderError && error.exitCode === 0)) throw error;
    });
    // The exit code of a server does not depend on whether its greeting could be written.
    if (program.args[0] !== 'serve') await delivered();
    return 0;
  } catch (error) {
    // No command was given; commander has shown the help.
    if (error instanceof CommanderError && error.code === 'commander.help') return exitCodes.usage;
    const { code, message, exitCode } = describeError(error);
    const told = withoutSecrets(message);
    // Not from the parser, which may have stopped before --json.
    const json = argv.includes('--json');
    tell(json ? printedJson({ Error: { Code: code, Message: told } }) : told);
    return exitCode;
  }
}
