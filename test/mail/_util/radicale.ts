/** A Radicale for one test, from Debian's package, whose hook is our forwarder. It has no invitations. */
import fs from 'node:fs';
import path from 'node:path';
import { freePort } from '../../_util/free-port.ts';
import { findMissing, installForwarder, makeDirectory, startReal, timeUntil } from './real-servers.ts';

const password = 'the password of every account';

/** Why Radicale cannot be started here; undefined when it can. */
export const missingRadicale = (): string | undefined => findMissing(['radicale', 'curl'], 'radicale curl');

/** Each user has one calendar, which all may write. */
export async function startRadicale(users: readonly string[]) {
  const directory = makeDirectory('radicale', {});
  const at = (...names: string[]) => path.join(directory, ...names);
  const port = await freePort();
  const forwarder = installForwarder(directory, {});
  fs.writeFileSync(at('users'), users.map((user) => `${user}:${password}\n`).join(''));
  fs.writeFileSync(
    at('config'),
    [
      ...['[server]', `hosts = 127.0.0.1:${port}`],
      ...[
        '[auth]',
        'type = htpasswd',
        `htpasswd_filename = ${at('users')}`,
        'htpasswd_encryption = plain',
        'delay = 0',
      ],
      ...['[rights]', 'type = authenticated'],
      ...['[storage]', `filesystem_folder = ${at('collections')}`, `hook = ${forwarder.script} %(user)s`],
      ...['[logging]', 'level = error', ''],
    ].join('\n'),
  );
  // Nobody is told before there is somebody to tell.
  forwarder.tell('http://127.0.0.1:9/');
  const stop = startReal('radicale', ['--config', at('config')], {});
  const url = `http://127.0.0.1:${port}`;
  await timeUntil('Radicale answers', 20_000, () =>
    fetch(url).then(
      () => true,
      () => false,
    ),
  );

  async function ask(user: string, method: string, at: string, body?: string): Promise<number> {
    const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
    const type = method === 'PUT' ? 'text/calendar' : 'application/xml';
    const init = {
      method,
      headers: { authorization, 'content-type': type },
      ...(body !== undefined && { body }),
    };
    const answer = await fetch(`${url}${at}`, init);
    await answer.arrayBuffer();
    return answer.status;
  }
  for (const user of users) {
    const made = await ask(user, 'MKCALENDAR', `/${user}/calendar/`);
    if (made !== 201) throw new Error(`MKCALENDAR: ${made}`);
  }

  return {
    url,
    password,
    put: (user: string, name: string, text: string) => ask(user, 'PUT', `/${user}/calendar/${name}.ics`, text),
    /** Many at once, as from a backup; Radicale looks at each when it lists them for the first time. */
    fill(user: string, objects: Iterable<[name: string, text: string]>) {
      const folder = at('collections', 'collection-root', user, 'calendar');
      for (const [name, text] of objects) fs.writeFileSync(path.join(folder, `${name}.ics`), text);
    },
    remove: (user: string, name: string) => ask(user, 'DELETE', `/${user}/calendar/${name}.ics`),
    /** Forgets what was told to those who ask for changes. */
    loseTokens: () =>
      fs.rmSync(at('collections', 'collection-root', users[0]!, 'calendar', '.Radicale.cache', 'sync-token'), {
        recursive: true,
      }),
    tell: forwarder.tell,
    async stop() {
      await stop();
      fs.rmSync(directory, { recursive: true, force: true });
    },
  };
}

export type Radicale = Awaited<ReturnType<typeof startRadicale>>;
