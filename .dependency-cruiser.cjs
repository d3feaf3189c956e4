/**
 * The arrows: who may import whom in `src`. A module may import only what its rule lists; what no rule mentions is free.
 * test/house/arrows.test.ts plants a violation of each rule. For tests, benches and examples biome.json has the rules.
 */
const hallways = 'rest|graphql|worker|cli|web';
/** Below the rooms; they know no room's nouns. */
const floors = `${hallways}|db|flow|http|time`;
const room = `(?!(?:${floors})/)[^/]+`;
/** A face of many records is made of parts, by their nouns: rest.ts of device-rest.ts. */
const part = '(?:|[a-z]+-)';
const face = `${part}(?:rest|graphql|tasks|cli)`;
const errorsAndLog = '^src/(errors|fields|input|log|names|nouns|printing|query-parameters|storable)\\.ts$';
/** What REST, GraphQL and the command line share. */
const sharedFloors = '^src/(flow|http)/';
const context = '^src/context\\.ts$';
/** A plain value type: what one page of a list is. */
const paging = '^src/db/paging\\.ts$';

/** What runs: the program, and the pages in browsers. */
const entries = [
  '^src/main\\.js$',
  '^src/web/(swagger|graphiql)/page\\.js$',
  '^src/web/display/(sign|board|start|worker)\\.ts$',
  '^src/web/console/start\\.ts$',
];

/** What `from` imports of our own must match one of `allowed`; `$1` is what the first group of `from` found. */
const onlyTo = (name, from, allowed) => ({
  name,
  severity: 'error',
  from: typeof from === 'string' ? { path: from } : from,
  to: { path: '^(src|test|bench)/', pathNot: allowed },
});

/** Modules of `to` may be imported in `src` only by `importers`. */
const onlyFrom = (name, to, importers) => ({
  name,
  severity: 'error',
  from: { path: '^src/', pathNot: importers },
  to: { path: to },
});

/** Packages whose one home is `places`; type imports count. */
const home = (name, packages, places) => onlyFrom(name, `^node_modules/(${packages})/`, places);

module.exports = {
  forbidden: [
    onlyTo('main', '^src/main\\.js$', '^src/(beginning|host)\\.ts$'),
    onlyTo('beginning', '^src/beginning\\.ts$', [
      '^src/db/embedded\\.ts$',
      '^src/(siblings|config|containment|log)\\.ts$',
    ]),
    onlyTo('host', '^src/host\\.ts$', [
      '^src/(cli|worker|db|flow)/',
      '^src/(beginning|server|supervisor|siblings|context|config|errors|log)\\.ts$',
    ]),
    onlyTo('server', '^src/server\\.ts$', [
      '^src/(worker|db|flow)/',
      '^src/http/(client-errors|half-closed|node-http|request-body|stalled)\\.ts$',
      '^src/identity/authenticate\\.ts$',
      '^src/(app|health-app|siblings|context|config|errors|log|tracing-export)\\.ts$',
    ]),
    onlyTo('supervisor', '^src/supervisor\\.ts$', ['^src/flow/', '^src/(siblings|config|log)\\.ts$']),
    onlyTo('health-app', '^src/health-app\\.ts$', [
      '^src/http/(schemes|networks)\\.ts$',
      '^src/identity/authenticate\\.ts$',
      '^src/rest/',
      '^src/graphql/server\\.ts$',
      '^src/(context|errors)\\.ts$',
    ]),
    onlyTo('app', '^src/app\\.ts$', [
      `^src/${room}/rest\\.ts$`,
      '^src/identity/authenticate\\.ts$',
      '^src/(rest|web)/',
      '^src/graphql/server\\.ts$',
      '^src/(health-app|context|config|errors|log)\\.ts$',
    ]),
    onlyFrom('rest-faces-in-app', `^src/${room}/rest\\.ts$`, '^src/app\\.ts$'),
    onlyFrom('graphql-faces-in-schema', `^src/${room}/graphql\\.ts$`, '^src/graphql/schema\\.ts$'),
    onlyFrom('task-faces-in-runner', `^src/${room}/tasks\\.ts$`, '^src/worker/runner\\.ts$'),
    onlyFrom('cli-faces-in-program', `^src/${room}/cli\\.ts$`, '^src/cli/program\\.ts$'),
    onlyFrom(
      'parts-in-their-face',
      `^src/${room}/[a-z]+-(?:rest|graphql|tasks|cli)\\.ts$`,
      `^src/${room}/(?:rest|graphql|tasks|cli)\\.ts$`,
    ),
    onlyTo('face', `^src/(${room})/${part}(rest|graphql|cli)\\.ts$`, [
      '^src/$1/',
      '^src/$2/',
      sharedFloors,
      context,
      errorsAndLog,
      paging,
    ]),
    {
      name: 'door',
      comment: 'A face calls its own room through service.ts, and what describes the wire.',
      severity: 'error',
      from: { path: `^src/(${room})/${face}\\.ts$` },
      to: { path: '^src/$1/', pathNot: `^src/[^/]+/(?:service|examples|${part}wire|${face})\\.ts$` },
    },
    onlyTo('task-face', `^src/(${room})/tasks\\.ts$`, [
      '^src/$1/',
      '^src/worker/',
      '^src/time/durations\\.ts$',
      context,
      errorsAndLog,
    ]),
    onlyTo(
      'room',
      {
        path: `^src/(${room})/`,
        pathNot: [`^src/[^/]+/(${face})\\.ts$`, '^src/identity/authenticate\\.ts$'],
      },
      [
        '^src/$1/',
        '^src/(db|flow|http|time)/',
        '^src/worker/(queue|leases)\\.ts$',
        `^src/${room}/service\\.ts$`,
        context,
        '^src/(access|acts|config|containment|errors|fields|finding|log|names|nouns|query-parameters|records|storable|tracing)\\.ts$',
      ],
    ),
    {
      name: 'room-knows-context-as-type',
      severity: 'error',
      from: { path: [`^src/(${room})/`, '^src/(access|acts|records)\\.ts$'], pathNot: `^src/[^/]+/(${face})\\.ts$` },
      to: { path: '^src/(context|config)\\.ts$', dependencyTypesNot: ['type-only'] },
    },
    // Protocols: without the database, and without any other room.
    onlyTo('mail-servers', '^src/mail-servers/', [
      '^src/(mail-servers|http|time)/',
      '^src/flow/(caches|retry|slices)\\.ts$',
      '^src/(config|log)\\.ts$',
    ]),
    onlyTo('authenticate', '^src/identity/authenticate\\.ts$', ['^src/(identity|rest|http)/', context, errorsAndLog]),
    onlyTo(
      'hallway',
      {
        path: `^src/(${hallways})/`,
        pathNot: ['^src/graphql/schema\\.ts$', '^src/worker/', '^src/cli/program\\.ts$', '^src/web/[^/]+/'],
      },
      [
        '^src/$1/',
        sharedFloors,
        '^src/(errors|fields|finding|input|json-text|names|nouns|printing|query-parameters|siblings|storable|context|config|log|tracing)\\.ts$',
        paging,
      ],
    ),
    onlyTo('graphql-schema', '^src/graphql/schema\\.ts$', [
      '^src/graphql/',
      `^src/${room}/graphql\\.ts$`,
      '^src/(errors|context|config|log)\\.ts$',
    ]),
    onlyTo('worker', { path: '^src/worker/', pathNot: '^src/worker/runner\\.ts$' }, [
      '^src/(worker|db|flow)/',
      '^src/(errors|finding|context|config|containment|log|tracing)\\.ts$',
    ]),
    onlyTo('worker-runner', '^src/worker/runner\\.ts$', [
      '^src/(worker|db|flow)/',
      `^src/${room}/tasks\\.ts$`,
      '^src/(errors|context|config|containment|log)\\.ts$',
    ]),
    onlyTo('cli-program', '^src/cli/program\\.ts$', [
      '^src/cli/',
      sharedFloors,
      `^src/${room}/(cli|service)\\.ts$`,
      '^src/(errors|finding|names|printing|context|config|log)\\.ts$',
    ]),
    onlyTo('access', '^src/(access|acts)\\.ts$', ['^src/db/', context, '^src/(errors|fields)\\.ts$']),
    onlyTo('records', '^src/records\\.ts$', ['^src/db/', '^src/(access|acts|context|errors)\\.ts$']),
    onlyTo('context', '^src/context\\.ts$', ['^src/db/', '^src/(config|log|tracing)\\.ts$']),
    onlyTo('db', '^src/db/', [
      '^src/(db|flow|time)/',
      '^src/(config|containment|errors|finding|log|storable|tracing)\\.ts$',
    ]),
    onlyTo('time', '^src/time/', ['^src/time/', '^src/errors\\.ts$']),
    onlyTo('flow', '^src/flow/', ['^src/flow/', '^src/(config|errors|log)\\.ts$']),
    onlyTo('http', '^src/http/', ['^src/http/', '^src/(config|errors|log|tracing)\\.ts$']),
    onlyTo('input', '^src/input\\.ts$', ['^src/(errors|fields|storable|wording)\\.ts$']),
    onlyTo('config', '^src/config\\.ts$', ['^src/(json-text|setting-names|settings|wording)\\.ts$']),
    onlyTo('setting-names', '^src/setting-names\\.ts$', ['^src/settings\\.ts$']),
    onlyTo('settings', '^src/(mail-server-)?settings\\.ts$', [
      '^src/(names|setting-values|mail-server-settings)\\.ts$',
      '^src/flow/database-urls\\.ts$',
    ]),
    onlyTo('fields', '^src/fields\\.ts$', ['^src/(nouns|storable)\\.ts$']),
    onlyTo('nouns', '^src/nouns\\.ts$', ['^src/storable\\.ts$']),
    onlyTo('query-parameters', '^src/query-parameters\\.ts$', ['^src/(fields|nouns|storable)\\.ts$', paging]),
    onlyTo(
      'ground',
      '^src/(containment|errors|finding|json-text|log|names|printing|setting-values|storable|tracing|wording)\\.ts$',
      ['^src/(names|printing|tracing)\\.ts$'],
    ),
    onlyTo('tracing-export', '^src/tracing-export\\.ts$', '^src/(config|log|tracing)\\.ts$'),
    onlyTo('src-without-tests', '^src/', ['^src/']),

    home('home-of-pg', 'pg|pg-copy-streams', '^src/db/'),
    home('home-of-kysely', 'kysely', [
      '^src/(db|worker)/',
      '^src/(access|acts)\\.ts$',
      `^src/(?!mail-servers/)${room}/(?!(?:${face}|authenticate)\\.ts$)`,
    ]),
    home('home-of-express', 'express', [
      `^src/${room}/${part}rest\\.ts$`,
      '^src/(rest|web)/',
      '^src/(health-)?app\\.ts$',
      '^src/identity/authenticate\\.ts$',
    ]),
    home('home-of-graphql', 'graphql|graphql-yoga|@pothos/[^/]+|graphql-ws|graphql-sse|ws', [
      `^src/${room}/${part}graphql\\.ts$`,
      '^src/graphql/',
      '^src/web/console/live\\.ts$',
    ]),
    home('home-of-the-queue', 'graphile-worker', ['^src/worker/', `^src/${room}/tasks\\.ts$`]),
    home('home-of-identity', 'jose|openid-client', '^src/(identity|mail-servers)/'),
    home('home-of-qr-codes', 'qr', '^src/web/'),
    home('home-of-event-signatures', 'standardwebhooks', '^src/webhooks/'),
    home('home-of-traces', '@opentelemetry/[^/]+', ['^src/tracing(-export)?\\.ts$', '^src/db/statement-spans\\.ts$']),
    home('home-of-xml', 'saxes', '^src/mail-servers/'),
    home('home-of-the-command-line', 'commander', ['^src/cli/', `^src/${room}/${part}cli\\.ts$`]),

    { name: 'no-cycle', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-orphan',
      comment: 'What neither main.js nor a page in web/ reaches does not run.',
      severity: 'error',
      from: { path: entries },
      to: { path: '^src/', pathNot: entries, reachable: false },
    },
    // The state of a room is computed by one file, here and on the signs; so is the ink on a colour, walk-ins have bounds, texts
    // turn nothing, zones have names, and the wait that is asked for has a bound. Text, rows and headings of timetable files are
    // read by one file each. People sign in by one form.
    onlyTo('page', '^src/web/([^/]+)/', [
      '^src/web/$1/',
      '^src/web/(sign-in\\.js|(bidi|ink|random-key|retry-after|room-states|zone-names)\\.ts)$',
      '^src/(names|bookings/walk-in|displays/state|time/(clock-changes|days|durations)|timetable-files/(cells|headings|text))\\.ts$',
    ]),
    {
      name: 'no-index',
      comment: 'A barrel hides where things live.',
      severity: 'error',
      from: {},
      to: { path: '^src/.*(?<=/)index\\.' },
    },
    {
      name: 'no-drawer',
      comment: 'A folder is named after what is in it.',
      severity: 'error',
      from: {},
      to: { path: '^src/.*(?<=/)(utils|helpers|common|types)/' },
    },
    {
      name: 'src-runs-without-dev-packages',
      comment: 'A production install leaves them out.',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    // TypeScript 7 has no API yet. This parser sees type imports without `tsPreCompilationDeps`, which would ask for it.
    parser: 'swc',
    doNotFollow: { path: '(^|/)node_modules/' },
    skipAnalysisNotInRules: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['node', 'import', 'types', 'default'],
    },
  },
};
