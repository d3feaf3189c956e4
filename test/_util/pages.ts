/** The generated pages of docs/, made from the code that they describe. */
import type { Command } from 'commander';
import { z } from 'zod';
import { createProgram, type Host } from '../../src/cli/program.ts';
import {
  clientSettings,
  corsSettings,
  holidaySettings,
  identityProvider,
  isSecret,
  limitSettings,
  mailCalendar,
  mailServer,
  sessionSettings,
  settings,
  tracingSettings,
  webhookSettings,
} from '../../src/settings.ts';

const note = (source: string) =>
  `<!-- Generated from ${source} by \`npm run generate\`. Change it there, or in test/_util/pages.ts. -->`;

type Shape = Record<string, z.core.$ZodType>;

/** The allowed values, in the words of the refusal of a wrong one. */
function allowed(schema: z.core.$ZodType): string {
  const issue = z.safeParse(schema, '?').error?.issues[0];
  if (issue?.code === 'invalid_value') return issue.values.map((value) => `\`${String(value)}\``).join(', ');
  const words = issue?.message.replace(/^must (be )?/, '').replace(/^have /, '');
  if (issue?.code === 'invalid_type' && words === issue.message)
    return issue.expected === 'array' ? 'a list' : issue.expected;
  return words ?? 'a text';
}

function presetOf(schema: z.core.$ZodType): string {
  const result = z.safeParse(schema, undefined);
  if (!result.success) return 'required';
  if (result.data === undefined || result.data === '') return '';
  return `\`${typeof result.data === 'string' ? result.data : JSON.stringify(result.data)}\``;
}

function table(shape: Shape, path: string[]): string {
  const rows = Object.entries(shape).flatMap(([name, schema]) => {
    const description = z.globalRegistry.get(schema)?.description;
    if (description === undefined) return [];
    const secret = isSecret([...path, name].join('.')) ? ' Secret.' : '';
    const cells = [`\`${[...path, name].join('__')}\``, presetOf(schema), allowed(schema), description + secret];
    return `| ${cells.join(' | ')} |`;
  });
  return ['| Setting | Default | Allowed | Meaning |', '|---|---|---|---|', ...rows].join('\n');
}

export const settingsPage = () => `${note('src/settings.ts, src/setting-values.ts and src/mail-server-settings.ts')}
# Settings

Settings are in \`appsettings.json\`, or in environment variables of the same name in any case. Names within a group are joined
by two underscores: \`Limits__LessonsPerBatch=5000\` sets \`LessonsPerBatch\` in \`Limits\`. The entries of a list are separated by
commas: \`Webhooks__TrustedOrigins=http://board.local,http://10.0.0.7:8080\`. The environment takes precedence; an empty variable
means the default. A wrong value prevents the start, with a line for each fault and exit code 78. The environment variable
\`APPSETTINGS_FILE\` names another file.

Unknown members of the files, such as those of other products, are ignored with a warning at the start, unless they resemble a
setting: a misspelt setting prevents the start. A variable with the right group and a wrong name in it prevents it too
(\`Limits__Lesson\`); any other that looks like a misspelt setting (\`DatabseUrl\`, \`Limit__…\`) may belong to another program: it is
ignored, with a warning unless it is all in capitals without \`__\`. A \`HOST\` or \`PORT\` that a shell or a platform exports is a setting too.

## General

${table(settings.shape, [])}

\`TrustProxy\` as addresses and networks also takes the names \`loopback\`, \`linklocal\` and \`uniquelocal\`.

## Sessions of the console

${table(sessionSettings.shape, ['Sessions'])}

How they are protected: [contract 12](contract/console.md#12-console).

## Calls from browsers

${table(corsSettings.shape, ['Cors'])}

In a variable: \`Cors__Origins=https://app.example,https://signage.example:8443\`. What calls of browsers are answered:
[contract 2](contract/wire-and-identity.md#2-wire-rules).

## Holiday calendars

${table(holidaySettings.shape, ['Holidays'])}

How calendars are read: [opening-hours.md](opening-hours.md#holidays).

## Webhooks

${table(webhookSettings.shape, ['Webhooks'])}

How events are sent: [webhooks.md](webhooks.md).

## Traces

${table(tracingSettings.shape, ['Tracing'])}

What is recorded: [seeing.md](seeing.md#traces).

## Identity provider

${table(identityProvider.shape, ['IdentityProvider'])}

What the modes mean: [api.md](api.md#signing-in).

## Mail servers

Each tenant has its own mail server, named by its mandator: \`MailServer__muni__Kind=Ews\`. How to set one up:
[mail-servers.md](mail-servers.md).

${table(mailServer.shape, ['MailServer', '{mandator}'])}

The members of a calendar in \`Calendars\`:

${table(mailCalendar.shape, [])}

## Limits

${table(limitSettings.shape, ['Limits'])}

## Clients

\`identitysettings.json\` has the list \`Clients\`: the programs that may request tokens. The members of each:

${table(clientSettings.shape, [])}
`;

/** The commands that do something, with their whole names, in the order of the help. */
const commandsOf = (command: Command, path: string[] = []): [path: string[], command: Command][] =>
  command.commands.flatMap((inner) => {
    const innerPath = [...path, inner.name()];
    return inner.commands.length > 0 ? commandsOf(inner, innerPath) : [[innerPath, inner]];
  });

const asSentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** The help of a command without the parts that all have in common. */
function helpOf(command: Command, path: string[]): string {
  let help = '';
  command.configureHelp({ showGlobalOptions: false, helpWidth: 120 }).helpOption(false);
  command.configureOutput({ writeOut: (text) => (help += text) });
  command.outputHelp();
  const examples = help.split(/^Examples?:\n/m)[1] ?? '';
  const helper = command.createHelp();
  const terms: [term: string, meaning: string][] = [
    ...command.registeredArguments.map((one): [string, string] => [
      helper.argumentTerm(one),
      helper.argumentDescription(one),
    ]),
    ...helper
      .visibleOptions(command)
      .map((one): [string, string] => [helper.optionTerm(one), helper.optionDescription(one)]),
  ];
  const width = Math.max(0, ...terms.map(([term]) => term.length)) + 2;
  return [
    `roomgate ${path.join(' ')} ${command.usage()}`.replace(/ \[options\]$/, terms.length > 0 ? '$&' : ''),
    ...terms.map(([term, meaning]) => `  ${term.padEnd(width)}${meaning}`),
    ...examples
      .trimEnd()
      .split('\n')
      .map((line) => line.trim()),
  ]
    .map((line) => line.trimEnd())
    .join('\n');
}

type Commands = ReturnType<typeof commandsOf>;
/** Commands about what lies outside of the service, or outlasts it, have a page of their own. */
const isOutside = ([[group = '']]: Commands[number]) => ['mail', 'webhooks', 'tenant'].includes(group);
const listOf = (commands: Commands) =>
  commands
    .map(
      ([path, command]) =>
        `## ${path.join(' ')}\n\n${asSentence(command.description())}\n\n\`\`\`\n${helpOf(command, path)}\n\`\`\``,
    )
    .join('\n\n');

export const outsideCommandsPage = (): string => `${note("the rooms' cli.ts")}
# Command line: mail servers, webhooks and whole tenants

All other commands, and what all commands have in common: [command-line.md](command-line.md).

${listOf(commandsOf(createProgram({} as Host)).filter(isOutside))}
`;

export function commandLinePage(): string {
  const program = createProgram({} as Host);
  const commands = commandsOf(program);
  return `${note("the rooms' cli.ts")}
# Command line

\`./roomgate COMMAND\` works from every folder when it is called with its path; \`npx roomgate\` does the same inside of the
project. The examples name persons and rooms of the demo; ids and codes in them are yours.

- All commands take \`--json\`. What would move, hide or colour text on a terminal, in names or files, is printed as spaces, and in JSON
  as escapes.
- \`mail\`, \`webhooks\` and \`tenant\` have a [page of their own](command-line-outside.md).
- Exit codes: 0; 1 for an error or a failed import; 2 for a mistake on the command line; 78 for wrong settings.
- If the database has only one tenant, \`--mandator\` is optional, except with \`--base-url\`, which may lead to another database.
- \`pin create\` without \`--person\` makes a PIN for the tenant's first Admin.
- \`import\` and \`batches\` use the REST API. They sign in with \`--pin\`, otherwise with the environment variable
  \`ROOMGATE_PIN\` (empty counts as unset). On a machine that reaches the database they need neither: they make a PIN for the tenant's first Admin and
  remove it afterwards. With an outside identity provider they need one of its tokens, by \`--token\` or \`ROOMGATE_TOKEN\`.
- Without \`DatabaseUrl\` they find the server that runs in the same folder; of several, which have the same data, the last
  one that was started, and one that has \`Role=Worker\` only if no other runs.

${listOf(commands.filter((one) => !isOutside(one)))}
`;
}
