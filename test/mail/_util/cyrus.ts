/** A Cyrus IMAP for one test, from Debian's package: calendars with invitations, and notifyd, which runs our forwarder. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { connect } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { freePort } from '../../_util/free-port.ts';
import { accountOf, findMissing, installForwarder, makeDirectory, startReal, timeUntil } from './real-servers.ts';

const bin = '/usr/lib/cyrus/bin';
const domain = 'rooms.test';
const password = 'the password of every account';

/** Why Cyrus cannot be started here; undefined when it can. */
export function missingCyrus(): string | undefined {
  const missing = findMissing(
    ['/usr/sbin/cyrmaster', `${bin}/httpd`, `${bin}/notifyd`, '/usr/sbin/saslpasswd2', 'curl'],
    'cyrus-imapd cyrus-caldav sasl2-bin curl',
  );
  const isAllowed = process.getuid?.() === 0 || os.userInfo().username === 'cyrus';
  return missing ?? (isAllowed ? undefined : 'it is started by root or cyrus only');
}

/** Says these lines to the IMAP server, each when the one before is done. */
async function imap(port: number, lines: readonly string[]): Promise<void> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8');
  await once(socket, 'data');
  for (const [at, line] of lines.entries()) {
    socket.write(`t${at} ${line}\r\n`);
    let answer = '';
    while (!/^t\d+ /m.test(answer)) [answer] = [answer + (await once(socket, 'data'))[0]];
    if (!answer.includes(`t${at} OK`)) throw new Error(`IMAP: ${line.split(' ')[0]}: ${answer}`);
  }
  socket.destroy();
}

export async function startCyrus(users: readonly string[]) {
  const account = accountOf('cyrus');
  const directory = makeDirectory('cyrus', account);
  const at = (...names: string[]) => path.join(directory, ...names);
  const [httpPort, imapPort] = [await freePort(), await freePort()];
  const forwarder = installForwarder(directory, account);
  for (const name of ['conf', 'spool', 'socket']) {
    fs.mkdirSync(at(name));
    if (account.uid !== undefined) fs.chownSync(at(name), account.uid, account.gid!);
  }
  const settings = {
    configdirectory: at('conf'),
    'partition-default': at('spool'),
    defaultpartition: 'default',
    admins: 'cyrus',
    virtdomains: 'off',
    unixhierarchysep: 'yes',
    altnamespace: 'yes',
    conversations: 'yes',
    allowplaintext: 'yes',
    sasl_pwcheck_method: 'auxprop',
    sasl_auxprop_plugin: 'sasldb',
    sasl_mech_list: 'PLAIN',
    sasl_sasldb_path: at('sasldb2'),
    mboxname_lockpath: at('lock'),
    proc_path: at('proc'),
    notifysocket: at('socket', 'notify'),
    lmtpsocket: at('socket', 'lmtp'),
    idlesocket: at('socket', 'idle'),
    httpmodules: 'caldav jmap',
    caldav_allowscheduling: 'on',
    calendar_user_address_set: domain,
    event_notifier: 'external',
    event_groups: 'message mailbox calendar',
    notify_external: forwarder.script,
    event_extra_params: 'timestamp service vnd.cmu.davFilename vnd.cmu.davUid vnd.cmu.mbtype vnd.fastmail.jmapStates',
  };
  fs.writeFileSync(
    at('imapd.conf'),
    Object.entries(settings)
      .map(([name, value]) => `${name}: ${value}\n`)
      .join(''),
  );
  const service = (name: string, others: string) => `  ${name} cmd="${bin}/${name}d -C ${at('imapd.conf')}${others}\n`;
  fs.writeFileSync(
    at('cyrus.conf'),
    `START {\n  recover cmd="${bin}/ctl_cyrusdb -C ${at('imapd.conf')} -r"\n}\nSERVICES {\n${[
      service('http', `" listen="127.0.0.1:${httpPort}" prefork=2`),
      service('imap', `" listen="127.0.0.1:${imapPort}" prefork=0`),
      service('notify', ` -m external" listen="${at('socket', 'notify')}" proto="udp" prefork=1`),
    ].join('')}}\nEVENTS {\n}\n`,
  );
  for (const user of ['cyrus', ...users]) {
    const made = spawnSync('/usr/sbin/saslpasswd2', ['-p', '-c', '-u', os.hostname(), '-f', at('sasldb2'), user], {
      input: password,
    });
    if (made.status !== 0) throw new Error(`saslpasswd2: ${made.stderr}`);
  }
  if (account.uid !== undefined) fs.chownSync(at('sasldb2'), account.uid, account.gid!);
  const begin = () =>
    startReal(
      '/usr/sbin/cyrmaster',
      ['-C', at('imapd.conf'), '-M', at('cyrus.conf'), '-p', at('master.pid'), '-D'],
      account,
    );
  let stop = begin();
  const url = `http://127.0.0.1:${httpPort}`;
  const answers = () =>
    fetch(url).then(
      () => true,
      () => false,
    );
  await timeUntil('Cyrus answers', 20_000, answers);

  async function send(user: string, method: string, at: string, body?: string) {
    const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
    const type = method === 'PUT' ? 'text/calendar' : 'application/xml';
    const headers = { authorization, 'content-type': type, depth: '0' };
    const answer = await fetch(`${url}${at}`, { method, headers, ...(body !== undefined && { body }) });
    return { status: answer.status, text: await answer.text() };
  }
  const ask = async (...asked: Parameters<typeof send>): Promise<number> => (await send(...asked)).status;

  await imap(imapPort, [`LOGIN cyrus "${password}"`, ...users.map((user) => `CREATE user/${user}`)]);
  // Their calendars are made when they look at them first.
  const look = '<propfind xmlns="DAV:"><prop><resourcetype/></prop></propfind>';
  for (const user of users) await ask(user, 'PROPFIND', `/dav/calendars/user/${user}/`, look);

  return {
    url,
    password,
    addressOf: (user: string) => `${user}@${domain}`,
    /** Lets one account read the calendar of another, as an operator does for the account of this service. */
    letRead: (reader: string, owners: readonly string[], rights = 'lrs') =>
      imap(imapPort, [
        `LOGIN cyrus "${password}"`,
        ...owners.map((owner) => `SETACL user/${owner}/#calendars/Default ${reader} ${rights}`),
      ]),
    put: (user: string, name: string, text: string) =>
      ask(user, 'PUT', `/dav/calendars/user/${user}/Default/${name}.ics`, text),
    get: async (user: string, name: string) =>
      (await send(user, 'GET', `/dav/calendars/user/${user}/Default/${name}.ics`)).text,
    remove: (user: string, name: string) => ask(user, 'DELETE', `/dav/calendars/user/${user}/Default/${name}.ics`),
    /** From now on changes are sent there. */
    tell: forwarder.tell,
    goDown: () => stop(),
    async comeBack() {
      stop = begin();
      await timeUntil('Cyrus answers again', 20_000, answers);
    },
    async stop() {
      await stop();
      fs.rmSync(directory, { recursive: true, force: true });
    },
  };
}

export type Cyrus = Awaited<ReturnType<typeof startCyrus>>;
