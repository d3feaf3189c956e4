import { openAsBlob } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import { type Command, Option } from 'commander';
import type { RemoteAction } from '../cli/client.ts';
import { CommandFailed, tenantOption, unreadableFile } from '../cli/command.ts';
import { formatTable } from '../cli/output.ts';
import { openProgress } from '../cli/progress.ts';
import { upperFirst } from '../fields.ts';
import { describeBatch, describeFindings, describeSuccess, mostFindingsShown } from './batch-cli.ts';
import {
  type BatchClient,
  type BatchRecord,
  describeReading,
  hasEnded,
  type JobsPath,
  openBatchClient,
  writeTimetable,
} from './service.ts';
import {
  addReadingOptions,
  describeDifference,
  describeFiles,
  fileFormats,
  formatOf,
  nameOptions,
  type ReadingOptions,
  readOptions,
  refuseReadingOptions,
} from './timetable-cli.ts';

const pinOption = () =>
  new Option('--pin <pin>', 'PIN to sign in with; without one, a temporary PIN of the first Admin').env('ROOMGATE_PIN');
const tokenOption = () =>
  new Option('--token <token>', 'access token to use in place of a PIN, with an outside identity provider').env(
    'ROOMGATE_TOKEN',
  );
const baseUrlOption = () => new Option('--base-url <url>', 'where the server is, when not where the settings say');

type SharedOptions = { mandator?: string; pin?: string; token?: string; baseUrl?: string };
type ImportOptions = SharedOptions &
  ReadingOptions & {
    operation: JobsPath;
    validateOnly?: true;
    dryRun?: true;
    onConflict?: string;
    takeOverBookings?: true;
    follow?: true;
  };

async function readHead(file: string): Promise<string> {
  const handle = await fs.open(file);
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(4_096), 0);
    return buffer.toString('utf8', 0, bytesRead).trimStart();
  } finally {
    await handle.close();
  }
}

/** A file with its beginning, since the error of `openAsBlob` names no cause. @throws CommandFailed with the cause */
async function openFile(file: string): Promise<{ head: string; content: Blob }> {
  const head = await readHead(file).catch((error: NodeJS.ErrnoException) => {
    throw unreadableFile(file, error);
  });
  return { head, content: await openAsBlob(file) };
}

/** The file as a request body. @throws CommandFailed for mistakes that need no server to be found */
async function openLessonFile(file: string): Promise<Blob> {
  const { head, content } = await openFile(file);
  if (head === '') throw new CommandFailed(`${file} is empty; it must hold a JSON array of jobs.`);
  if (!head.startsWith('['))
    throw new CommandFailed(`${file} is not a JSON array of jobs: it does not begin with "[".`);
  return content;
}

type Told = ReturnType<typeof openProgress>;

/** Sends jobs as they are. */
async function sendJobs(client: BatchClient, files: readonly string[], options: ImportOptions, progress: Told) {
  refuseReadingOptions(options);
  const [file = '', ...others] = files;
  if (others.length > 0) throw new CommandFailed('Send one JSON file at a time; a batch has one body.');
  const body = await openLessonFile(file);
  return await client.postJobs(options.operation, body, {
    query: queryOf(options),
    onProgress: (sent, total) => progress.bar('Upload', sent, total),
  });
}

/** Sends the files of a timetable program. */
async function sendFiles(client: BatchClient, files: readonly string[], options: ImportOptions, progress: Told) {
  if (options.operation !== 'create' || options.takeOverBookings)
    throw new CommandFailed(
      '--operation and --take-over-bookings are for JSON; other files always contain a whole timetable.',
    );
  const named = await Promise.all(
    files.map(async (file) => ({ name: path.basename(file), content: (await openFile(file)).content })),
  );
  const reading = await readOptions(options);
  const format = options.format && options.format !== 'json' ? { Format: fileFormats[options.format] } : {};
  const query = { ...queryOf(options), ...format };
  const accepted = await client.postTimetable(() => writeTimetable(reading, named), { query }).catch(nameOptions);
  if (options.saveProfile !== undefined)
    await client.saveProfile(options.saveProfile, { ...describeReading(reading), ...format });
  for (const line of describeFiles(accepted.Files)) progress.say(line);
  for (const { File, Line, Message } of accepted.Notices.slice(0, mostFindingsShown))
    progress.say(`${File} line ${Line}: ${Message}`);
  const more = accepted.NoticeCount - Math.min(accepted.Notices.length, mostFindingsShown);
  if (more > 0) progress.say(`... and ${more} more that are left out`);
  return accepted;
}

/** The options as contract 4.2 has them. */
function queryOf({ validateOnly, dryRun, onConflict, takeOverBookings }: ImportOptions): Record<string, string> {
  return {
    ...((validateOnly || dryRun) && { ValidateOnly: 'true' }),
    ...(onConflict && { OnConflict: upperFirst(onConflict) }),
    ...(takeOverBookings && { TakeOverBookings: 'true' }),
  };
}

/** Adds `import` and `batches`, which work through the REST API (contract 1). */
export function addCommands(program: Command, action: RemoteAction): void {
  const importing = program
    .command('import')
    .description(
      'send a timetable through the REST API: a JSON file of lesson jobs, or files of Untis, CSV or iCalendar',
    )
    .argument('<files...>', 'a JSON array of jobs, or the files of a timetable program')
    .addOption(tenantOption())
    .addOption(
      new Option('--operation <operation>', 'what to do with the jobs')
        .choices(['create', 'update', 'delete'])
        .default('create'),
    )
    .option('--validate-only', 'check everything and write nothing')
    .option('--dry-run', 'as --validate-only and --follow: tell what would change')
    .addOption(
      new Option(
        '--on-conflict <rule>',
        'lessons whose room is occupied: fail the batch, leave them out, or cancel manual bookings; not for delete',
      ).choices(['fail', 'skip', 'displace']),
    )
    .option('--take-over-bookings', "a lesson replaces the sender's own booking of the same room and time; for create")
    .option('--follow', 'wait until the batch has ended; exit code 1 and the errors if it failed')
    .addOption(pinOption())
    .addOption(tokenOption())
    .addOption(baseUrlOption());
  addReadingOptions(importing)
    .addHelpText('after', 'Example:\n  $ roomgate import examples/timetable.json --mandator demo --follow')
    .action(
      action(async (remote, files: string[], options: ImportOptions) => {
        if (options.operation === 'delete' && options.onConflict)
          throw new CommandFailed('--on-conflict is for create and update; a deletion has no conflicts.');
        if (options.operation !== 'create' && options.takeOverBookings)
          throw new CommandFailed('--take-over-bookings is for create; only new lessons take bookings over.');
        const [first = ''] = files;
        const isJson = formatOf(options, first, (await openFile(first)).head) === 'json';
        if (isJson) await openLessonFile(first);
        const client = openBatchClient(await remote.signIn(options));
        const progress = openProgress(remote.json ? { write: () => {} } : process.stderr);
        try {
          const send = isJson ? sendJobs : sendFiles;
          const accepted = await send(client, files, options, progress);
          progress.say(`Batch ${accepted.BatchId} is accepted.`);
          if (!options.follow && !options.dryRun) {
            remote.print(accepted.BatchId, accepted);
            return;
          }
          let status = '';
          const batch = await client.followBatch(accepted.BatchId, (state) => {
            if (state.ImportStatus !== status) progress.say((status = state.ImportStatus));
            if (!hasEnded(state)) progress.bar('Lessons', state.ProcessedCount, state.LessonCount ?? null);
          });
          progress.end();
          const succeeded = batch.ImportStatus === 'LessonsCreated';
          const told = [describeBatch(batch)];
          const severity = succeeded ? 'Warning' : 'Error';
          if (!remote.json && (!succeeded || batch.WarningCount > 0))
            told.push(`\n${await describeFindings(client, batch, severity, files)}\n`);
          if (succeeded) told.push(...[describeDifference(batch), describeSuccess(batch, options)].filter(Boolean));
          remote.print(told.join('\n'), batch);
          if (succeeded) return;
          throw new CommandFailed(
            `Batch ${batch.BatchId} has failed (${batch.FailureKind}) and nothing of it was stored: correct the file and send it again.`,
          );
        } finally {
          progress.end();
        }
      }),
    );

  program
    .command('batches')
    .description("list the tenant's running and queued batches")
    .addOption(tenantOption())
    .option('--all', 'the ended ones too')
    .addOption(pinOption())
    .addOption(tokenOption())
    .addOption(baseUrlOption())
    .addHelpText('after', 'Example:\n  $ roomgate batches --mandator demo --all')
    .action(
      action(async (remote, options: SharedOptions & { all?: true }) => {
        const client = openBatchClient(await remote.signIn(options));
        const batches: BatchRecord[] = [];
        for await (const batch of client.listBatches({ all: options.all ?? false })) batches.push(batch);
        const rows = batches.map((batch) => [
          batch.BatchId,
          batch.Operation,
          batch.ImportStatus,
          batch.LessonCount == null ? '' : `${batch.ProcessedCount}/${batch.LessonCount}`,
          batch.ErrorCount,
          batch.CreatedAt,
        ]);
        const headings = ['BatchId', 'Operation', 'ImportStatus', 'Lessons', 'Errors', 'CreatedAt'];
        remote.print(rows.length > 0 ? formatTable(headings, rows) : 'No batch is running.', batches);
      }),
    );
}
