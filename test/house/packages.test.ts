/** The packages of deploy/, as far as they can be judged without their programs running. */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import packageJson from '../../package.json' with { type: 'json' };
import { readConfig } from '../../src/config.ts';

const project = path.join(import.meta.dirname, '../..');
const read = (file: string) => fs.readFileSync(path.join(project, 'deploy', file), 'utf8');
const namedIn = (text: string, line: RegExp) =>
  Object.fromEntries([...text.matchAll(line)].map(([, name = '', value = '']) => [name, value]));

const hasSystemd = !spawnSync('systemd-analyze', ['--version']).error;
const needsSystemd = hasSystemd ? test : test.skip;
needsSystemd(
  `${hasSystemd ? '' : 'SKIPPED: systemd-analyze is not installed: '}systemd takes the unit, which exposes little`,
  () => {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-unit-'));
    const unit = path.join(directory, 'roomgate@.service');
    // It insists on programs that are there.
    const text = read('systemd/roomgate@.service').replace(
      /^ExecStart=.*main\.js/m,
      `ExecStart=${process.execPath} main.js`,
    );
    fs.writeFileSync(unit, text.replaceAll('/opt/roomgate', project));
    const analyze = (...args: string[]) => {
      const { status, stdout, stderr } = spawnSync('systemd-analyze', [...args, unit], { encoding: 'utf8' });
      return { status, said: status === 0 ? stderr : stdout + stderr };
    };
    expect(analyze('verify')).toEqual({ status: 0, said: '' });
    // Tenths: 100 is a unit without any restriction.
    expect(analyze('security', '--offline=true', '--threshold=15')).toMatchObject({ status: 0 });
    fs.rmSync(directory, { recursive: true });
  },
);

test('Node.js has the same options everywhere as in `npm start`', () => {
  const [, options = ''] = /^exec node (-.+) src\/main\.js serve$/.exec(packageJson.scripts.start) ?? [];
  expect(options).toMatch(/^--max-semi-space-size=\d+$/);
  expect(read('Dockerfile')).toContain(`ENTRYPOINT ["node", "${options}", "src/main.js"]`);
  expect(read('systemd/roomgate@.service')).toContain(`/node ${options} /opt/roomgate/src/main.js serve\n`);
  expect(read('../roomgate')).toContain(`exec node ${options} "$folder/src/main.js" "$@"\n`);
});

test('the settings of compose and of Kubernetes are taken, with values such as they name', () => {
  const compose = namedIn(
    /&settings\n(.*?)\n {2}depends_on/s.exec(read('compose.yaml'))?.[1] ?? '',
    /^ +(\w+): (.*)$/gm,
  );
  const kubernetes = {
    ...namedIn(read('kubernetes/kustomization.yaml'), /^ +- (\w+)=(.*)$/gm),
    ...namedIn(read('kubernetes/secret.env.example'), /^(\w+)=(.*)$/gm),
    ...namedIn(read('kubernetes/web.yaml'), /\{ name: (Role), value: (\w+) \}/g),
  };
  for (const named of [compose, kubernetes]) {
    const settings = Object.entries(named).map(([name, value]) => [
      name,
      value.replace(/\$\{\w+:\?\}/g, 'example-of-thirty-two-characters-x'),
    ]);
    const config: object = readConfig(Object.fromEntries(settings), project);
    expect(Object.keys(named).sort()).toEqual(expect.arrayContaining(['BaseUrl', 'DatabaseUrl', 'IdpUrl', 'Pepper']));
    expect(Object.keys(named).filter((name) => !(name in config))).toEqual([]);
  }
});

test('the image brings the Node.js of the tests', () => {
  expect(/^ARG NODE=node:([\d.]+)-/m.exec(read('Dockerfile'))?.[1]).toBe(process.versions.node);
});

test('the image has all that the program reads', () => {
  const copied = [...read('Dockerfile').matchAll(/^COPY (?!--)(.*) \S+$/gm)].flatMap(([, files = '']) =>
    files.split(' '),
  );
  const sent = [...read('Dockerfile.dockerignore').matchAll(/^!(.*)$/gm)].map(([, file]) => file);
  expect([...new Set(copied)].sort()).toEqual(sent.sort());
  expect(copied.filter((file) => !fs.existsSync(path.join(project, file)))).toEqual([]);
});

describe('a program that cannot run says what to do, and exits with 78', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-bare-'));
  fs.cpSync(path.join(project, 'src'), path.join(folder, 'src'), { recursive: true });
  fs.copyFileSync(path.join(project, 'package.json'), path.join(folder, 'package.json'));
  afterAll(() => fs.rmSync(folder, { recursive: true }));
  const start = (...options: string[]) => {
    const { status, stderr } = spawnSync(process.execPath, [...options, path.join(folder, 'src/main.js')], {
      encoding: 'utf8',
    });
    return { status, stderr };
  };

  test('without its packages', () => {
    expect(start()).toEqual({
      status: 78,
      stderr: expect.stringMatching(
        /^Some packages are missing: run "npm ci --omit=dev" in .*\nCannot find package '\S+' imported from .*\n$/,
      ),
    });
  });

  test('with an older Node.js', () => {
    const older = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '24.8.0' } });`;
    expect(start('--import', `data:text/javascript,${encodeURIComponent(older)}`)).toEqual({
      status: 78,
      stderr: expect.stringMatching(/^roomgate needs Node\.js 24\.9 or later, .*"npm ci --omit=dev" in .*\n$/),
    });
  });
});
