import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ConfigError, listeningOn, readConfig } from '../../src/config.ts';

const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-config-'));
afterAll(() => fs.rmSync(directory, { recursive: true }));

const client = { ClientId: 'timetable', AllowedGrantTypes: ['apikey'], AllowedScopes: ['service_api'] };

function write(name: string, content: unknown): string {
  const file = path.join(directory, name);
  fs.writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

/** The settings that a file, an environment and the identity settings give. */
function read(file: unknown, environment: NodeJS.ProcessEnv = {}, identity: unknown = { Clients: [client] }) {
  write('appsettings.json', file);
  write('identitysettings.json', identity);
  return readConfig(environment, directory);
}

/** The lines that name the faults. */
function faults(...input: Parameters<typeof read>): string[] {
  try {
    read(...input);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message.split('\n');
  }
  return [];
}

beforeEach(() => {
  for (const file of fs.readdirSync(directory)) fs.rmSync(path.join(directory, file));
});

describe('defaults', () => {
  test('an empty file gives the contract’s defaults, frozen', () => {
    const config = read({});
    expect(config).toMatchObject({
      Host: '127.0.0.1',
      Port: 8080,
      DatabaseUrl: '',
      Role: 'All',
      IdentityProvider: { Mode: 'Embedded' },
      TrustProxy: 0,
      Limits: {
        JobBodyBytes: 33_554_432,
        BodyBytes: 1_048_576,
        WebhookBodyBytes: 1_048_576,
        JobsPerBatch: 10_000,
        LessonsPerBatch: 100_000,
        RequestsPerMinute: 600,
        TokenRequestsPerMinute: 30,
      },
    });
    expect(Object.isFrozen(config)).toBe(true);
  });

  test('the roots follow Host and Port, and lose the slash at their end', () => {
    const own = { BaseUrl: 'http://[::1]:81', IdpUrl: 'http://[::1]:81', RoomsHost: 'http://[::1]:81' };
    expect(read({ Host: '::1', Port: 81 })).toMatchObject(own);
    expect(read({ Host: '::1', Port: 81, IdpUrl: 'https://id.example/' })).toMatchObject({
      ...own,
      IdpUrl: 'https://id.example',
    });
  });

  test('listeningOn moves the default roots to the port that the system chose, and no other', () => {
    const config = listeningOn(read({ Port: 0, BaseUrl: 'https://rooms.example' }), 4711);
    expect(config).toMatchObject({
      Port: 4711,
      BaseUrl: 'https://rooms.example',
      IdpUrl: 'http://127.0.0.1:4711',
      RoomsHost: 'http://127.0.0.1:4711',
    });
    expect(Object.isFrozen(config)).toBe(true);
  });

  test('the files that the project comes with are valid', () => {
    const { Clients } = readConfig({}, path.join(import.meta.dirname, '..', '..'));
    expect(Clients.map(({ ClientId, RequireClientSecret }) => [ClientId, RequireClientSecret])).toEqual([
      ['timetable-import', false],
    ]);
  });
});

describe('the environment goes over the file', () => {
  test.each<[NodeJS.ProcessEnv, object]>([
    [{ Port: '81' }, { Port: 81 }],
    [{ PORT: '81' }, { Port: 81 }],
    [{ Limits__LessonsPerBatch: '5000' }, { Limits: { LessonsPerBatch: 5000, JobsPerBatch: 7 } }],
    [{ LIMITS__LESSONSPERBATCH: '5000' }, { Limits: { LessonsPerBatch: 5000, JobsPerBatch: 7 } }],
    [{ limits__lessonsperbatch: '5000' }, { Limits: { LessonsPerBatch: 5000, JobsPerBatch: 7 } }],
    [{ IDENTITYPROVIDER__MODE: 'None' }, { IdentityProvider: { Mode: 'None' } }],
    [
      { IdentityProvider__Mode: 'External', IdentityProvider__authority: 'http://[::1]:81/realm' },
      { IdentityProvider: { Mode: 'External', Authority: 'http://[::1]:81/realm', Audience: 'service_api' } },
    ],
    [{ LegacyApiKeyEnabled: 'true' }, { LegacyApiKeyEnabled: true }],
    [{ SwaggerEnabled: 'true' }, { SwaggerEnabled: true }],
    [{ GraphiQLEnabled: 'true' }, { GraphiQLEnabled: true }],
    [{ GraphiQLEnabled: 'false' }, { GraphiQLEnabled: false }],
    [{ TrustProxy: '2' }, { TrustProxy: 2 }],
    [{ TrustProxy: 'loopback, 10.0.0.0/8,fd00::1' }, { TrustProxy: 'loopback, 10.0.0.0/8,fd00::1' }],
    ...[
      'postgres://a:b@c/d',
      'postgresql://a:%2F%3F%23%25@[::1]:5432,c:5433/d?sslmode=verify-full',
      'postgres:///d?host=/run/postgresql',
      'postgres://a:b@/d?host=/run/postgresql',
    ].map((DatabaseUrl): [NodeJS.ProcessEnv, object] => [{ DatabaseUrl }, { DatabaseUrl }]),
    // An empty variable leaves the default, at every depth.
    [{ Port: '' }, { Port: 8080 }],
    [{ Limits__JobsPerBatch: '' }, { Limits: { JobsPerBatch: 10_000 } }],
    // What we do not know at the top is somebody else's, or misspelt.
    [{ PATH: '/bin', Ports: '1', My__Port: '1' }, { Port: 90 }],
  ])('%j', (environment, expected) => {
    expect(read({ Port: 90, Limits: { JobsPerBatch: 7 } }, environment)).toMatchObject(expected);
  });

  test('APPSETTINGS_FILE names another file, and the identity settings lie beside that', () => {
    fs.mkdirSync(path.join(directory, 'other'), { recursive: true });
    const file = write('other/settings.json', { Port: 82 });
    write('other/identitysettings.json', { Clients: [{ ...client, ClientId: 'other' }] });
    expect(readConfig({ APPSETTINGS_FILE: file }, '/nowhere')).toMatchObject({
      Port: 82,
      Clients: [{ ClientId: 'other' }],
    });
    fs.rmSync(path.join(directory, 'other'), { recursive: true });
  });

  test('a byte order mark before the JSON is no fault', () => {
    expect(read('\uFEFF{"Port":83}').Port).toBe(83);
  });
});

describe('one line per fault, naming the setting, its value and what is allowed', () => {
  const port = 'must be a whole number from 0 to 65535';
  const flag = 'must be true or false';
  const one = 'must name one site: list each origin whose pages may call the API; there is no wildcard';
  const origin =
    'must be an origin as browsers send it: https://host or https://host:port (http on this machine only), without a path';
  const origins = 'must be a list of origins; in an environment variable separated by commas';
  test.each<[unknown, NodeJS.ProcessEnv, string[]]>([
    [{ Port: 70_000 }, {}, [`appsettings.json: Port: is 70000; ${port}`]],
    [{ Port: 1.5 }, {}, [`appsettings.json: Port: is 1.5; ${port}`]],
    [{ Port: null }, {}, [`appsettings.json: Port: is null; ${port}`]],
    [{ Port: true }, {}, [`appsettings.json: Port: is true; ${port}`]],
    [{ Port: [] }, {}, [`appsettings.json: Port: is a list; ${port}`]],
    [{}, { PORT: '8080x' }, [`PORT: is "8080x"; ${port}`]],
    [{}, { Port: '0x50' }, [`Port: is "0x50"; ${port}`]],
    [{}, { Port: ' ' }, [`Port: is " "; ${port}`]],
    [
      { PooledDatabaseUrl: 'postgres://a:b@c/d' },
      {},
      ['appsettings.json: DatabaseUrl: is missing; must be set together with PooledDatabaseUrl'],
    ],
    [
      {},
      { DatabaseUrl: 'postgres://a:b@c/d', PooledDatabaseUrl: 'mysql://a:hush@c/d' },
      [
        'PooledDatabaseUrl: is (secret); must be a URL that begins with postgres://, with / ? # % of a password as %2F %3F %23 %25',
      ],
    ],
    [
      { ReadDatabaseUrl: 'postgres://a:b@c/d' },
      {},
      ['appsettings.json: DatabaseUrl: is missing; must be set together with ReadDatabaseUrl'],
    ],
    [
      {},
      { DatabaseUrl: 'postgres://a:b@c/d', ReadDatabaseUrl: 'mysql://a:hush@c/d' },
      [
        'ReadDatabaseUrl: is (secret); must be a URL that begins with postgres://, with / ? # % of a password as %2F %3F %23 %25',
      ],
    ],
    ...[
      'a:b/c@d/e',
      'a:b?c@d/e',
      'a:b#c@d/e',
      'a:1#c@d/e',
      'a:b@c:x/d',
      'a:b@c:1,d:x/e',
      'a:b@c/d@e/f',
      'a:b@c?d@e/f',
    ].map((rest): [unknown, NodeJS.ProcessEnv, string[]] => [
      {},
      { DatabaseUrl: `postgres://${rest}` },
      [
        'DatabaseUrl: is (secret); must be empty or a URL that begins with postgres://, with / ? # % of a password as %2F %3F %23 %25',
      ],
    ]),
    [{ Role: 'Both' }, {}, ['appsettings.json: Role: is "Both"; must be one of All, Web, Worker']],
    [
      { BaseUrl: 'rooms.example' },
      {},
      ['appsettings.json: BaseUrl: is "rooms.example"; must be an absolute http or https URL'],
    ],
    [
      { IdpUrl: 'ftp://rooms.example' },
      {},
      ['appsettings.json: IdpUrl: is "ftp://rooms.example"; must be an absolute http or https URL'],
    ],
    [{ GraphiQLEnabled: 'yes' }, {}, [`appsettings.json: GraphiQLEnabled: is "yes"; ${flag}`]],
    [{ GraphiQLEnabled: 1 }, {}, [`appsettings.json: GraphiQLEnabled: is 1; ${flag}`]],
    [
      { Limits: { JobsPerBatch: 0 } },
      {},
      ['appsettings.json: Limits.JobsPerBatch: is 0; must be a whole number from 1 to 1000000'],
    ],
    [
      { Limits: { BookingDays: 30 } },
      { Limits__LessonDays: '-1' },
      [
        'appsettings.json: Limits.BookingDays: is 30; must be 0, or a whole number from 31 to 36500',
        'Limits__LessonDays: is "-1"; must be 0, or a whole number from 31 to 36500',
      ],
    ],
    [{}, { Limits: '5' }, ['Limits: is "5"; must be an object in braces']],
    [{}, { Port__Number: '5' }, [`appsettings.json: Port: is an object; ${port}`]],
    [{ Prot: 1 }, {}, ['appsettings.json: Prot: there is no such setting; did you mean Port?']],
    [{ port: 1 }, {}, ['appsettings.json: port: there is no such setting; did you mean Port?']],
    [{ Limits: { Prot: 1 } }, {}, ['appsettings.json: Limits.Prot: there is no such setting; did you mean Port?']],
    [{}, { Limits__Colour: '1' }, ['Limits__Colour: there is no such setting']],
    [{}, { Limits__Nope: '1' }, ['Limits__Nope: there is no such setting']],
    [
      {
        Cors: { Origins: ['https://app.example', '*', 'https://*.example', 'https://app.example/x', 'app.example', 1] },
      },
      {},
      [
        `appsettings.json: Cors.Origins.1: is "*"; ${one}`,
        `appsettings.json: Cors.Origins.2: is "https://*.example"; ${one}`,
        ...[
          ['3', '"https://app.example/x"'],
          ['4', '"app.example"'],
          ['5', '1'],
        ].map(([at, shown]) => `appsettings.json: Cors.Origins.${at}: is ${shown}; ${origin}`),
      ],
    ],
    [{}, { Cors__Origins: '*' }, [`Cors__Origins: 0: is "*"; ${one}`]],
    [
      {},
      { Cors__Origins: 'https://app.example,http://app.example' },
      [`Cors__Origins: 1: is "http://app.example"; ${origin}`],
    ],
    [{ Cors: { Origins: true } }, {}, [`appsettings.json: Cors.Origins: is true; ${origins}`]],
    [{ Cors: { Orgins: [] } }, {}, ['appsettings.json: Cors.Orgins: there is no such setting; did you mean Origins?']],
    [
      { Limits: { LessonsPerBach: 1 } },
      {},
      ['appsettings.json: Limits.LessonsPerBach: there is no such setting; did you mean LessonsPerBatch?'],
    ],
    [
      {},
      { Limits__LessonsPerBach: '1' },
      ['Limits__LessonsPerBach: there is no such setting; did you mean Limits__LessonsPerBatch?'],
    ],
    [
      { LessonsPerBatch: 1 },
      {},
      ['appsettings.json: LessonsPerBatch: there is no such setting; did you mean Limits.LessonsPerBatch?'],
    ],
    [
      {},
      { MailServer__uni__Knd: 'Ews', MailServer__uni__Url: 'https://x.example', MailServer__uni__User: 'u' },
      expect.arrayContaining([
        'MailServer__uni__Knd: there is no such setting; did you mean MailServer__uni__Kind?',
      ]) as unknown as string[],
    ],
    [
      { IdentityProvider: { Mode: 'External' } },
      {},
      [
        'appsettings.json: IdentityProvider.Authority: is missing; must be the URL of the identity provider when Mode is External',
      ],
    ],
    ...['http://idp.example', 'https://a:b@idp.example', 'https://idp.example?x', 'idp.example'].map(
      (Authority): [unknown, NodeJS.ProcessEnv, string[]] => [
        { IdentityProvider: { Mode: 'External', Authority } },
        {},
        [
          `appsettings.json: IdentityProvider.Authority: is ${JSON.stringify(Authority).replace('a:b', '(secret)')}; must be an https URL (http on this machine only), without query or password`,
        ],
      ],
    ),
    [
      {},
      { IdentityProvider__ClientSecret: 'hunter2' },
      ['appsettings.json: IdentityProvider.ClientId: is missing; must be set together with ClientSecret'],
    ],
    [
      {},
      { IdentityProvider__Autority: 'https://idp.example' },
      ['IdentityProvider__Autority: there is no such setting; did you mean IdentityProvider__Authority?'],
    ],
    [{}, { LIMITS__JobsPerBatch__Most: '1' }, ['LIMITS__JobsPerBatch__Most: there is no such setting']],
    [
      { Port: 'x', Role: 'y', Nonsense: 1 },
      {},
      [`appsettings.json: Port: is "x"; ${port}`, 'appsettings.json: Role: is "y"; must be one of All, Web, Worker'],
    ],
    [[], {}, [expect.stringMatching(/appsettings\.json: must be a JSON object$/) as unknown as string]],
  ])('%j %j', (file, environment, expected) => {
    expect(faults(file, environment)).toEqual(expected);
  });

  test.each(['11', '-1', 'abc', '10.0.0.0/40', '10.0.0.1 10.0.0.2', 'everybody'])('TrustProxy %s', (value) => {
    expect(faults({}, { TrustProxy: value })).toEqual([
      `TrustProxy: is "${value}"; must be a number of hops from 0 to 10, or addresses and networks separated by commas`,
    ]);
  });

  test.each([
    ['DatabaseUrl', 'mysql://user:hunter2@host/db'],
    ['Pepper', 'hunter2'],
    ['DemoPin', ['hunter2']],
    ['IdentityProvider.ClientSecret', ['hunter2']],
  ])('the value of %s is masked', (name, value) => {
    const [first = '', second] = name.split('.');
    const [line, ...more] = faults({ [first]: second ? { [second]: value } : value });
    expect(more).toEqual([]);
    expect(line).toMatch(new RegExp(`^appsettings\\.json: ${name}: is \\(secret\\); `));
    expect(line).not.toContain('hunter2');
  });

  test('a file that is a folder', () => {
    expect(() => readConfig({ APPSETTINGS_FILE: directory }, directory)).toThrow(
      new ConfigError(`${directory}: is a folder; name a file in APPSETTINGS_FILE`),
    );
  });

  test('a file that is not there', () => {
    const file = path.join(directory, 'absent.json');
    expect(() => readConfig({ APPSETTINGS_FILE: file }, directory)).toThrow(
      new ConfigError(`${file}: cannot be read (ENOENT); name another file in APPSETTINGS_FILE, or create this one`),
    );
  });

  test.each([
    ['{"Pepper": hunter2hunter2}', "Unexpected token 'h' in JSON at position 11 (line 1 column 12)"],
    [
      '{\n  "Pepper": "hunter2",\n  "Port": ’8080’\n}',
      "Unexpected token '’' in JSON at position 35 (line 3 column 11)",
    ],
    ['{"Pepper": "hunter2", "Debug": tru}', "Unexpected token '}' in JSON at position 34 (line 1 column 35)"],
    ['{"Pepper": "hunter2",}', 'Expected double-quoted property name in JSON at position 21 (line 1 column 22)'],
    ['{"Pepper": "hunter2', 'Unterminated string in JSON at position 19 (line 1 column 20)'],
    ['', 'Unexpected end of JSON input'],
  ])('a file that is not JSON, by the place and without quoting what stands in it: %j', (text, message) => {
    expect(faults(text)).toEqual([`${path.join(directory, 'appsettings.json')}: is not JSON: ${message}`]);
  });
});

describe('members of other products', () => {
  const line = (file: string, name: string) => `${file}: ${name}: there is no such setting; it is ignored`;

  test('in the settings are ignored, with a warning for each that names the file and the member', () => {
    const { warnings, Port, Limits } = read({
      Port: 81,
      Logging: { LogLevel: { Default: 'Information' } },
      AllowedHosts: '*',
      Urls: 'http://*:5000',
      ConnectionStrings: { Main: 'Server=.;Password=hunter2' },
      Limits: { JobsPerBatch: 7, Colour: 'hunter2' },
    });
    const names = ['Logging', 'AllowedHosts', 'Urls', 'ConnectionStrings', 'Limits.Colour'];
    expect([...warnings].sort()).toEqual(names.map((name) => line('appsettings.json', name)).sort());
    expect([Port, Limits.JobsPerBatch]).toEqual([81, 7]);
  });

  test('in client records too: those of identity servers have many', () => {
    const theirs = {
      AccessTokenLifetime: 3600,
      AllowOfflineAccess: true,
      AllowedCorsOrigins: [],
      ClientUri: 'https://x.example',
      Description: 'x',
      RedirectUris: [],
      Scopes: [],
    };
    const secret = { Value: 'x', Type: 'SharedSecret', Expiration: null };
    const { warnings, Clients } = read(
      {},
      {},
      {
        ApiScopes: [],
        Clients: [{ ...client, ...theirs, ClientSecrets: [secret] }],
      },
    );
    const names = [
      'ApiScopes',
      ...Object.keys(theirs).map((name) => `Clients.0.${name}`),
      'Clients.0.ClientSecrets.0.Type',
      'Clients.0.ClientSecrets.0.Expiration',
    ];
    expect([...warnings].sort()).toEqual(names.map((name) => line('identitysettings.json', name)).sort());
    expect(Clients[0]).toMatchObject({ ...client, ClientSecrets: [{ Value: 'x' }] });
    expect(Clients[0]).not.toHaveProperty('ClientUri');
  });

  test('do not stop a start, but wrong values beside them do', () => {
    expect(faults({ Logging: {}, Port: 'x' })).toHaveLength(1);
    expect(faults({ Logging: {}, IdentityProvider: { Mode: 'External', Colour: 1 } })).toHaveLength(1);
  });

  test.each<[NodeJS.ProcessEnv, string | undefined]>([
    [{ DatabseUrl: 'postgres:///' }, 'DatabaseUrl'],
    [{ Peper: 'x' }, 'Pepper'],
    [{ ReadDatabaseUrls: 'postgres:///' }, 'ReadDatabaseUrl'],
    [{ Limit__LessonsPerBatch: '5' }, 'Limits__LessonsPerBatch'],
    [{ LIMIT__LESSONSPERBATCH: '5' }, 'Limits__LESSONSPERBATCH'],
    [{ MailServr__uni__Url: 'https://x.example' }, 'MailServer__uni__Url'],
    [{ DATABASE_URL: 'postgres:///', PORTS: '1', http_proxy: 'x', npm_config_cache: 'x' }, undefined],
  ])('a variable that looks like a misspelt setting is told: %j', (environment, meant) => {
    const [variable] = Object.keys(environment);
    expect(read({}, environment).warnings).toEqual(
      meant ? [`${variable}: there is no such setting; did you mean ${meant}? It is ignored`] : [],
    );
  });

  test('there are none in the shipped files', () => {
    expect(readConfig({}, path.join(import.meta.dirname, '..', '..')).warnings).toEqual([]);
  });
});

describe('Cors.Origins', () => {
  test.each<[unknown, NodeJS.ProcessEnv, string[]]>([
    [{}, {}, []],
    [
      { Cors: { Origins: ['HTTPS://App.Example:443/', 'http://localhost:5173'] } },
      {},
      ['https://app.example', 'http://localhost:5173'],
    ],
    [
      {},
      { CORS__ORIGINS: 'https://a.example, https://b.example:8443' },
      ['https://a.example', 'https://b.example:8443'],
    ],
    [{ Cors: { Origins: ['https://a.example'] } }, { Cors__Origins: '' }, []],
  ])('%j %j', (file, environment, expected) => {
    expect(read(file, environment).Cors.Origins).toEqual(expected);
  });
});

describe('identity settings', () => {
  const requireSecret = (value: unknown) =>
    read({}, {}, { Clients: [{ ...client, RequireClientSecret: value }] }).Clients[0]?.RequireClientSecret;

  test.each([
    ['false', false],
    ['true', true],
    ['False', false],
    [false, false],
    [true, true],
    [undefined, true],
  ])('RequireClientSecret %j reads as %j', (written, expected) => {
    expect(requireSecret(written)).toBe(expected);
  });

  test.each(['no', '', '0', 0, null])('RequireClientSecret %j is a fault', (value) => {
    expect(faults({}, {}, { Clients: [{ ...client, RequireClientSecret: value }] })).toEqual([
      `identitysettings.json: Clients.0.RequireClientSecret: is ${JSON.stringify(value)}; must be true or false`,
    ]);
  });

  test.each<[unknown, unknown[]]>([
    [{}, ['identitysettings.json: Clients: is missing']],
    [
      { Clients: client },
      // Of an object from outside of the test's realm zod says "Object".
      [expect.stringMatching(/^identitysettings\.json: Clients: is an object; must be a list in brackets$/)],
    ],
    [
      { Clients: [{ ...client, ClientId: '' }] },
      ['identitysettings.json: Clients.0.ClientId: is ""; must not be empty'],
    ],
    [
      { Clients: [{ ...client, ClientSecrets: 'hunter2' }] },
      ['identitysettings.json: Clients.0.ClientSecrets: is (secret); must be a list in brackets'],
    ],
    ...['sha256:', `sha256:${'0f'.repeat(32)}`, `sha256:${'A'.repeat(40)}`].map((Value): [unknown, unknown[]] => [
      { Clients: [{ ...client, ClientSecrets: [{ Value }] }] },
      [
        'identitysettings.json: Clients.0.ClientSecrets.0.Value: is (secret); must have a SHA-256 in base64, which has 44 characters, after sha256:',
      ],
    ]),
    [
      { Clients: [client, { ...client, RequireClientSecret: false }] },
      ['identitysettings.json: Clients.1.ClientId: is "timetable"; must differ from that of every other client'],
    ],
    [
      { Clients: [{ ...client, RequirePkse: true }] },
      ['identitysettings.json: Clients.0.RequirePkse: there is no such setting; did you mean RequirePkce?'],
    ],
  ])('%j', (identity, expected) => {
    expect(faults({}, {}, identity)).toEqual(expected);
  });

  test('a file that is not there names the setting that points to it', () => {
    write('appsettings.json', { IdentitySettingsFile: 'absent.json' });
    const file = path.join(directory, 'absent.json');
    expect(() => readConfig({}, directory)).toThrow(
      new ConfigError(
        `${file}: cannot be read (ENOENT); name another file in IdentitySettingsFile, or create this one`,
      ),
    );
  });
});

describe('mail servers, by mandator', () => {
  const server = { Kind: 'CalDav', Url: 'https://mail.example/', User: 'rooms', Password: 'hunter2' };
  const room = { Mailbox: 'aula@mail.example', ResourceName: 'Aula' };
  const line = (text: string) => `appsettings.json: MailServer.${text}`;

  test('are known in any case, with what the environment sets in them, and have defaults', () => {
    const { MailServer } = read(
      { MailServer: { Demo: { ...server, PastDays: 3 }, other: server } },
      {
        MailServer__demo__Password: 'hunter3',
        MAILSERVER__DEMO__CALENDARS: JSON.stringify([room]),
        MailServer__demo__PastDays: '',
        mailserver__a__school___url: 'https://three.example/',
        MailServer__a__school___Kind: 'Ews',
        MailServer__a__school___User: 'x',
        MailServer__a__school___Password: 'y',
        // Of a server that is set nowhere.
        MailServer__none__Password: '',
      },
    );
    expect(MailServer).toEqual({
      demo: { ...server, Password: 'hunter3', Calendars: [room], PastDays: 1, FutureDays: 365 },
      other: { ...server, PastDays: 1, FutureDays: 365 },
      a__school_: {
        Kind: 'Ews',
        Url: 'https://three.example/',
        User: 'x',
        Password: 'y',
        PastDays: 1,
        FutureDays: 365,
      },
    });
    expect(read({}).MailServer).toEqual({});
  });

  test('the key of a service account may be the text that Google gives', () => {
    const private_key = '-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n';
    const whole = { type: 'service_account', client_email: 'rooms@x.example', private_key };
    const google = { Kind: 'Google', Url: 'https://www.googleapis.com/calendar/v3' };
    const { demo } = read(
      { MailServer: { demo: google } },
      { MailServer__demo__ServiceAccountKey: JSON.stringify(whole) },
    ).MailServer;
    expect(demo?.ServiceAccountKey).toEqual({ client_email: 'rooms@x.example', private_key });
  });

  test('calendars that are published have absolute addresses', () => {
    const Calendars = ['private/aula.ics', 'webcal://other.example/x.ics?a=b', undefined].map((Url) => ({
      ...room,
      ...(Url && { Url }),
    }));
    const { demo } = read(
      { MailServer: { demo: { Kind: 'ICalendar', Url: 'https://cal.example/ical/{user}', Calendars } } },
      { MailServer__demo__TrustedOrigins: 'https://a.example, https://b.example' },
    ).MailServer;
    expect(demo?.TrustedOrigins).toEqual(['https://a.example', 'https://b.example']);
    expect(demo?.Calendars?.map(({ Url }) => Url)).toEqual([
      'https://cal.example/ical/private/aula.ics',
      'https://other.example/x.ics?a=b',
      undefined,
    ]);
  });

  const safe = 'must be an https URL (http on this machine only), without query or password';
  const asObject =
    'is (secret); must be an object with the settings of one mandator: {"MailServer": {"<mandator>": {"Kind": …}}}; a variable names one of them: MailServer__<mandator>__Password';
  test.each<[unknown, NodeJS.ProcessEnv, string[]]>([
    [{ Demo: server, demo: server }, {}, [line('demo: it is the same mandator as Demo; keep one of them')]],
    [
      { API: server, 'a b': server },
      {},
      [
        line('API: this name is reserved, so no mandator can have it'),
        line('a b: the code of a mandator has 1 to 64 characters of a-z, 0-9, - and _'),
      ],
    ],
    [{ demo: 'hunter2' }, {}, [line(`demo: ${asObject}`)]],
    [{}, { MailServer__demo: '{"Password":"hunter2"}' }, [`MailServer__demo: ${asObject}`]],
    [
      {},
      { MailServer__demo__Password: 'hunter2' },
      [
        line('demo.Kind: is missing; must be one of Ews, Graph, CalDav, Google, ICalendar'),
        line(`demo.Url: is missing; ${safe}`),
      ],
    ],
    [
      { demo: server },
      { MailServer__Demo__Passwort: 'hunter2' },
      ['MailServer__Demo__Passwort: there is no such setting; did you mean MailServer__demo__Password?'],
    ],
    ...(
      [
        ['http://mail.example', '"http://mail.example"'],
        ['http://mail.example:81/hunter2/{user}.ics', '"http://mail.example:81/(secret)"'],
        ['https://mail.example?hunter2', '"https://mail.example/(secret)"'],
        ['https://mail.example/#hunter2', '"https://mail.example/(secret)"'],
        ['https://rooms:hunter2/x@mail.example', '(secret)'],
        ['mail.example/hunter2', '(secret)'],
      ] as const
    ).map(([Url, shown]): [unknown, NodeJS.ProcessEnv, string[]] => [
      { demo: { ...server, Url } },
      {},
      [line(`demo.Url: is ${shown}; ${safe}`)],
    ]),
    [
      { demo: { ...server, Password: ['hunter2'] } },
      {},
      [line('demo.Password: is (secret); must be a text in quotes')],
    ],
    [
      { demo: { Kind: 'Ews', Url: server.Url, User: 'rooms' } },
      {},
      [
        line(
          'demo.Password: is missing; must be set together with User, or ClientId, ClientSecret and TokenUrl instead',
        ),
      ],
    ],
    [
      { demo: { ...server, Kind: 'Graph' } },
      {},
      [
        line('demo.ClientId: is missing; must be set together with ClientSecret and TokenUrl'),
        line('demo.ClientSecret: is missing; must be set together with ClientId and TokenUrl'),
        line('demo.TokenUrl: is missing; must be set together with ClientId and ClientSecret'),
      ],
    ],
    [
      { demo: { Kind: 'Ews', Url: server.Url, ClientId: 'rooms', ClientSecret: 'hunter2' } },
      {},
      [line('demo.TokenUrl: is missing; must be set together with ClientId and ClientSecret')],
    ],
    [
      { demo: { Kind: 'CalDav', Url: server.Url, Password: 'hunter2' } },
      {},
      [
        line(
          'demo.User: is missing; must be set together with Password, or ClientId, ClientSecret and TokenUrl instead',
        ),
      ],
    ],
    [
      { demo: server },
      { MailServer__demo__Calendars: 'Aula' },
      ['MailServer__demo__Calendars: is (secret); must be a list, which an environment variable holds as JSON'],
    ],
    [
      { demo: server },
      { MailServer__demo__Calendars: JSON.stringify([{ ...room, Mailbox: 'a b' }]) },
      ['MailServer__demo__Calendars: 0.Mailbox: is "a b"; must be an e-mail address or the name of an account'],
    ],
    ...[undefined, 'hunter2', '{"client_email":"x","private_key":"hunter2"}', { client_email: 'x' }].map(
      (ServiceAccountKey): [unknown, NodeJS.ProcessEnv, string[]] => [
        { demo: { Kind: 'Google', Url: 'https://www.googleapis.com/calendar/v3', ServiceAccountKey } },
        {},
        [
          expect.stringMatching(
            /ServiceAccountKey(\.\w+)?: is (missing|\(secret\)); must be the JSON of a service account/,
          ),
        ] as never,
      ],
    ),
    [
      { demo: { Kind: 'ICalendar', Url: 'https://cal.example/{user}' } },
      { MailServer__demo__TrustedOrigins: 'https://cal.example,http://10.0.0.1' },
      [
        expect.stringMatching(/^MailServer__demo__TrustedOrigins: 1: is "http:\/\/10\.0\.0\.1"; must be an origin/),
      ] as never,
    ],
    [
      { demo: { Kind: 'ICalendar', Url: 'https://cal.example/' } },
      {},
      [
        line(
          'demo.Calendars: is missing; must name each calendar with its Url, or the Url of the server must have {mailbox} or {user}',
        ),
      ],
    ],
    [
      {
        demo: {
          Kind: 'ICalendar',
          Url: 'https://cal.example/',
          Calendars: [room, { ...room, Url: 'ftp://hunter2' }, { ...room, Url: 'https://u:hunter2@x' }],
        },
      },
      {},
      [
        line(
          'demo.Calendars.0.Url: is missing; must be an https or webcal URL without a password, or relative to the Url',
        ),
        ...[1, 2].map((at) =>
          line(
            `demo.Calendars.${at}.Url: is (secret); must be an https or webcal URL without a password, or relative to the Url`,
          ),
        ),
      ],
    ],
  ])('%j %j', (MailServer, environment, expected) => {
    expect(faults({ MailServer }, environment)).toEqual(expected);
    expect(faults({ MailServer }, environment).join()).not.toContain('hunter2');
  });

  test.each(['/api/webhooks/mailserver', 'ftp://x.example', 'https://a:b@x.example', 'https://x.example#y'])(
    'MailServerPushNotificationEndpointUrl %s',
    (MailServerPushNotificationEndpointUrl) => {
      expect(faults({ MailServerPushNotificationEndpointUrl })).toEqual([
        `appsettings.json: MailServerPushNotificationEndpointUrl: is ${JSON.stringify(MailServerPushNotificationEndpointUrl).replace('a:b@', '(secret)@')}; must be an absolute http or https URL, without a password and without #`,
      ]);
    },
  );
});
